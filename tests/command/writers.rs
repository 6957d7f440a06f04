//! Many writers, and one that wants to be alone.

use crate::scene::{SECOND, Scene, Shell, text};

/// Ten write at once. One that wants to be alone waits for all of them; whoever comes meanwhile is
/// refused, and told why; afterwards they flow again.
#[test]
fn ten_write_and_one_waits_for_them() {
    let scene = Scene::new();
    let gate = scene.path("gate");
    let script = format!("until [ -e {} ]; do sleep .05; done", gate.display());
    let mut writers: Vec<Shell> = (0..10)
        .map(|n| {
            let label = format!("writer-{n}");
            let args = ["run", "--writer", "--label", &label, "repo", "--", "sh", "-c", &script];
            scene.shell(&label, &args)
        })
        .collect();
    let all = || scene.status("repo")["holders"].as_array().unwrap().len();
    scene.wait_for_state("repo", "writers");
    assert!(crate::scene::until(SECOND * 10, || all() == 10), "{}", scene.status("repo"));

    let mut alone = scene.shell("alone", &["run", "--label", "compact", "repo", "--", "true"]);
    alone.wait_until_told("writer");
    scene.wait_for_state("repo", "draining");

    let refused = scene.output(&["run", "--writer", "--no-wait", "repo", "--", "true"]);
    assert_eq!(refused.status.code(), Some(75));
    let told = text(&refused.stderr);
    assert!(told.contains("compact") && told.contains("waits to hold it alone"), "{told}");

    std::fs::write(gate, "").unwrap();
    assert_eq!(alone.exit_within(SECOND * 10), Some(0), "{}", alone.told());
    for writer in &mut writers {
        assert_eq!(writer.exit_within(SECOND * 5), Some(0));
    }
    let again = scene.output(&["run", "--writer", "--no-wait", "repo", "--", "true"]);
    assert_eq!(again.status.code(), Some(0));
}
