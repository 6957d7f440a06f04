//! Leases for scripts: a ticket is taken, renewed, looked at, moved and used up. (Cases of `acquire`,
//! `renew`, `check`, `release` and `run --ticket`.)

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Output;

use nix::sys::signal::Signal;
use rstest::rstest;
use serde_json::Value;

use crate::scene::{SECOND, Scene, text, until};

/// What it printed, if all went well.
pub(crate) fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{:?}: {}", output.status, text(&output.stderr));
    text(&output.stdout).trim_end().to_owned()
}

/// The code that it ended with, and what it said.
fn refused(output: &Output) -> (Option<i32>, String) {
    assert!(text(&output.stdout).is_empty(), "{}", text(&output.stdout));
    (output.status.code(), text(&output.stderr))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// From the first ticket to the last the lease is one, each ticket works once, and the name is free
/// in the end.
#[test]
fn a_lease_goes_from_ticket_to_ticket() {
    let scene = Scene::new();
    let first = printed(&scene.output(&["acquire", "--label", "alpha", "--meta", "a=b", "job"]));
    assert_eq!(scene.state("job"), "exclusive");
    let epoch = scene.epoch("job");
    let second = printed(&scene.output(&["renew", "--ticket", &first]));
    let holder = &scene.status("job")["holders"][0];
    assert_eq!((&holder["label"], &holder["metadata"]["a"]), (&"alpha".into(), &"b".into()));

    for command in ["renew", "check", "release"] {
        let (code, told) = refused(&scene.output(&[command, "--ticket", &first]));
        assert_eq!(code, Some(79), "{command}: {told}");
        assert!(told.contains("used"), "{command}: {told}");
    }
    let again = scene.output(&["run", "--ticket", &first, "--", "touch", "never"]);
    assert_eq!(refused(&again).0, Some(79), "{}", text(&again.stderr));
    assert_eq!(scene.epoch("job"), epoch);
    let check = scene.output(&["check", "--ticket", &second]);
    assert!(printed(&check).contains(&format!("epoch {epoch}")), "{}", text(&check.stdout));

    printed(&scene.output(&["release", "--ticket", &second]));
    assert_eq!(scene.state("job"), "free");
    for command in ["renew", "check", "release"] {
        let (code, told) = refused(&scene.output(&[command, "--ticket", &second]));
        assert_eq!(code, Some(79), "{command}: {told}");
    }
}

/// Of all who renew with one ticket at the same time one gets through, and its ticket works.
#[test]
fn of_racing_renewals_one_gets_through() {
    let scene = Scene::new();
    for _ in 0..3 {
        let ticket = printed(&scene.output(&["acquire", "job"]));
        let racers = (0..4)
            .map(|racer| scene.shell(&format!("racer-{racer}"), &["renew", "--ticket", &ticket]));
        let mut racers: Vec<_> = racers.collect();
        let codes: Vec<_> = racers.iter_mut().map(|racer| racer.exit_within(SECOND * 20)).collect();
        assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
        assert_eq!(codes.iter().filter(|code| **code == Some(79)).count(), 3, "{codes:?}");
        let winner = codes.iter().position(|code| *code == Some(0)).unwrap();
        let next = &scene.lines(&format!("racer-{winner}.out"), 1)[0];
        printed(&scene.output(&["release", "--ticket", next]));
    }
}

/// A script with a file: written for its owner only, renewed in place, removed in the end.
#[test]
fn a_file_holds_the_ticket_that_works() {
    let scene = Scene::new();
    let path = scene.path("job.ticket");
    let file = path.to_str().unwrap();
    assert_eq!(printed(&scene.output(&["acquire", "--ticket", file, "job"])), "");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let first = fs::read_to_string(file).unwrap();
    let link = scene.path("link");
    symlink(file, &link).unwrap();
    let renew = |ticket: &str| scene.lease(&["renew"]).env("LEASE_TICKET", ticket).output();
    assert_eq!(printed(&renew(link.to_str().unwrap()).unwrap()), "");
    let second = fs::read_to_string(file).unwrap();
    assert_ne!(first, second);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    printed(&scene.output(&["check", "--ticket", file]));
    printed(&scene.output(&["release", "--ticket", file]));
    assert_eq!(scene.state("job"), "free");
    let left: Vec<_> =
        fs::read_dir(scene.path("")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the leases and the link: {left:?}");
}

/// Where the next ticket could not be written, the one that is there is not used up.
#[test]
fn a_file_that_cannot_be_written_costs_no_ticket() {
    let scene = Scene::new();
    let folder = scene.path("folder");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("job.ticket");
    printed(&scene.output(&["acquire", "--ticket", file.to_str().unwrap(), "job"]));
    // A name that is too long for what stands beside it, since root may write anywhere.
    let long = folder.join("t".repeat(240));
    fs::rename(&file, &long).unwrap();
    let (code, told) = refused(&scene.output(&["renew", "--ticket", long.to_str().unwrap()]));
    assert_eq!(code, Some(71), "{told}");
    fs::rename(&long, &file).unwrap();
    printed(&scene.output(&["renew", "--ticket", file.to_str().unwrap()]));

    let missing = scene.path("no/such/folder");
    let refused = scene.output(&["acquire", "--ticket", missing.to_str().unwrap(), "other"]);
    assert_eq!(refused.status.code(), Some(71), "{}", text(&refused.stderr));
    assert_eq!(scene.state("other"), "free");
}

/// A file that is no ticket is left alone; that of a lease which is held, too; an old one is replaced.
#[test]
fn only_an_old_ticket_is_overwritten() {
    let scene = Scene::new();
    let path = scene.path("a.ticket");
    let file = path.to_str().unwrap();
    fs::write(file, "what somebody needs").unwrap();
    let (code, told) = refused(&scene.output(&["acquire", "--ticket", file, "job"]));
    assert_eq!(code, Some(64), "{told}");
    assert_eq!(fs::read_to_string(file).unwrap(), "what somebody needs");

    for other in ["", &printed(&scene.output(&["acquire", "third"]))] {
        let (code, told) = refused(&scene.output(&["acquire", "--ticket", other, "job"]));
        assert_eq!(code, Some(64), "{told}");
    }

    // As `mktemp` leaves it.
    fs::write(file, "").unwrap();
    printed(&scene.output(&["acquire", "--ttl", "4s", "--writer", "--ticket", file, "job"]));
    let held = fs::read_to_string(file).unwrap();
    for args in [["--writer", "job"], ["--exclusive", "other"]] {
        let args = [&["acquire", "--ticket", file], &args[..]].concat();
        let (code, told) = refused(&scene.output(&args));
        assert_eq!(code, Some(75), "{told}");
        assert!(told.contains("lease release"), "{told}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), held);

    // The script was killed; the next one waits for the name and takes the same file.
    printed(&scene.output(&["acquire", "--ttl", "1s", "--ticket", file, "--wait", "30s", "job"]));
    let taken = scene.output(&["acquire", "--ticket", file, "--wait", "10s", "job"]);
    assert!(printed(&taken).is_empty());
    printed(&scene.output(&["release", "--ticket", file]));
}

/// The ticket of a lease in another store is not overwritten while that may be held, by whatever name;
/// and one that cannot be read never.
#[rstest]
#[case::of_nobody("")]
#[case::with_a_keeper("--keep-while $$")]
fn a_ticket_of_another_store_is_not_overwritten(#[case] kept: &str) {
    let (scene, other) = (Scene::new(), Scene::new());
    let file = scene.path("a.ticket").display().to_string();
    let script = format!(
        "lease acquire --ttl 10s {kept} --ticket {file} job || exit
         for name in job other; do
             lease acquire --on {url} --ticket {file} $name; echo $?
         done",
        url = other.url(),
    );
    let mut script = scene.shell_of("script", scene.script(&script));
    assert_eq!(script.exit_within(SECOND * 30), Some(0), "{}", script.told());
    assert_eq!(scene.lines("script.out", 2), ["75", "75"], "{}", script.told());
    assert!(script.told().contains("in another store"), "{}", script.told());
    let replace = || other.output(&["acquire", "--ticket", &file, "job"]);
    assert!(until(SECOND * 30, || replace().status.success()), "{}", text(&replace().stderr));

    let newer = fs::read_to_string(&file).unwrap().replacen("lease1", "lease2", 1);
    fs::write(&file, &newer).unwrap();
    let (code, told) = refused(&scene.output(&["acquire", "--ticket", &file, "job"]));
    assert_eq!(code, Some(64), "{told}");
    assert!(told.contains("newer version") && told.contains("another file"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), newer);
}

/// Whatever cannot be read is told with what to do, and costs nobody a lease.
#[rstest]
#[case::empty(|_: &str| String::new(), "is empty")]
#[case::cut_off(|ticket: &str| ticket[..ticket.len() / 2].to_owned(), "damaged")]
#[case::without_its_end(|ticket: &str| ticket[..ticket.len() - 1].to_owned(), "damaged")]
#[case::changed(|ticket: &str| ticket.replacen('e', "f", 3).replacen("lfas", "leas", 1), "no ticket itself")]
#[case::another_letter(|ticket: &str| format!("lease1.{}", ticket[7..].replacen('J', "K", 1)), "damaged")]
#[case::newer(|ticket: &str| ticket.replacen("lease1", "lease2", 1), "newer version")]
#[case::no_file(|_: &str| "gone.ticket".to_owned(), "there is no file `gone.ticket`")]
#[case::an_empty_file(|_: &str| "/dev/null".to_owned(), "the file `/dev/null` is empty")]
#[case::a_folder(|_: &str| "/".to_owned(), "cannot be read")]
fn a_damaged_ticket_is_refused(#[case] damage: fn(&str) -> String, #[case] said: &str) {
    let scene = Scene::new();
    let ticket = printed(&scene.output(&["acquire", "job"]));
    let damaged = damage(&ticket);
    assert_ne!(damaged, ticket);
    for command in [vec!["renew"], vec!["check"], vec!["release"], vec!["run"]] {
        let end = if command[0] == "run" { vec!["--", "touch", "never"] } else { vec![] };
        let args = [&command[..], &["--ticket", &damaged], &end[..]].concat();
        let (code, told) = refused(&scene.output(&args));
        assert_eq!(code, Some(64), "{told}");
        assert!(told.contains(said) && told.lines().count() == 1, "{told}");
    }
    printed(&scene.output(&["release", "--ticket", &ticket]));
}

/// A lease that was broken, or that ran out and was taken: check says so, and nothing is freed.
#[rstest]
#[case::broken(true)]
#[case::taken_over(false)]
fn a_lease_that_has_ended_is_told(#[case] broken: bool) {
    let scene = Scene::new();
    let ttl = if broken { "15s" } else { "1s" };
    let ticket = printed(&scene.output(&["acquire", "--ttl", ttl, "job"]));
    if broken {
        printed(&scene.output(&["break", "job", "--force", "--why", "a test"]));
    }
    let next = printed(&scene.output(&["acquire", "--wait", "20s", "job"]));
    let check = scene.output(&["check", "--json", "--ticket", &ticket]);
    assert_eq!(check.status.code(), Some(79), "{}", text(&check.stderr));
    assert_eq!(json(&check)["held"], false);
    for command in ["renew", "check", "release"] {
        let (code, told) = refused(&scene.output(&[command, "--ticket", &ticket]));
        assert_eq!(code, Some(79), "{told}");
    }
    printed(&scene.output(&["check", "--ticket", &next]));
}

/// A lease whose time is over may not be believed in, though nobody has taken it yet.
#[test]
fn a_lease_whose_time_is_over_is_not_held() {
    let scene = Scene::new();
    let ticket = printed(&scene.output(&["acquire", "--ttl", "1s", "job"]));
    let check = || scene.output(&["check", "--ticket", &ticket]);
    let over = until(SECOND * 10, || check().status.code() == Some(79));
    assert!(over, "{}", text(&check().stdout));
    assert!(text(&check().stderr).contains("over"), "{}", text(&check().stderr));
}

/// The machine that takes a ticket over goes on under the same epoch, and shows itself.
#[test]
fn a_ticket_moves_a_lease_to_another_process() {
    let scene = Scene::new();
    let path = scene.path("moving");
    let file = path.to_str().unwrap();
    printed(&scene.output(&["acquire", "--label", "here", "--ticket", file, "job"]));
    let epoch = scene.epoch("job");
    let script = "echo $LEASE_NAME $LEASE_EPOCH; until [ -e gate ]; do sleep .02; done";
    let script = script.replace("gate", scene.path("gate").to_str().unwrap());
    let args = ["run", "--label", "there", "--ticket", file, "--", "sh", "-c", &script];
    let mut job = scene.shell("job", &args);
    assert_eq!(scene.lines("job.out", 1), [format!("job {epoch}")]);
    let holder = &scene.status("job")["holders"][0];
    assert_eq!((&holder["label"], &holder["pid"]), (&"there".into(), &job.pid().as_raw().into()));
    assert!(!path.exists(), "a ticket that was used is removed");
    fs::write(scene.path("gate"), "").unwrap();
    assert_eq!(job.exit_within(SECOND * 10), Some(0), "{}", job.told());
    assert_eq!(scene.state("job"), "free");
}

/// What the ticket decides is not asked for again.
#[test]
fn a_run_by_a_ticket_takes_no_wishes() {
    let scene = Scene::new();
    let ticket = printed(&scene.output(&["acquire", "--ttl", "4s", "job"]));
    for option in [&["--ttl", "9s"][..], &["--writer"], &["--no-wait"], &["other"]] {
        let args = [&["run", "--ticket", &ticket], option, &["--", "touch", "never"]].concat();
        assert_eq!(refused(&scene.output(&args)).0, Some(64), "{option:?}");
    }
    let grace = ["run", "--ticket", &ticket, "--kill-grace", "3s", "--", "touch", "never"];
    assert_eq!(refused(&scene.output(&grace)).0, Some(64), "more than half of the ticket's ttl");
    printed(&scene.output(&["release", "--ticket", &ticket]));
}

/// What a script reads: words for a shell, or JSON.
#[test]
fn a_shell_and_a_program_are_told_all() {
    let scene = Scene::new();
    let script = "vars=$(lease acquire --env --writer \"it's my job\") && eval \"$vars\" &&
        echo \"$LEASE_NAME/$LEASE_MODE/$LEASE_EPOCH/$LEASE_TOKEN\" &&
        lease check >&2 && vars=$(lease renew --env) && eval \"$vars\" && lease release";
    let out = printed(&scene.script(script).output().unwrap());
    let epoch = scene.epoch("it's my job");
    assert_eq!(out, format!("it's my job/writer/{epoch}/{}", 2 * epoch + 1));
    assert_eq!(scene.state("it's my job"), "free");

    let taken = scene.output(&["acquire", "--json", "--writer", "job"]);
    let view = json(&taken);
    let left = view["remaining_ms"].as_u64().unwrap();
    assert!((10_000..15_000).contains(&left), "{view}");
    assert_eq!((&view["mode"], &view["keeper"]), (&"writer".into(), &Value::Null));
    let ticket = view["ticket"].as_str().unwrap();
    let check = || json(&scene.output(&["check", "--json", "--ticket", ticket]));
    assert_eq!((&check()["held"], &check()["drain"]), (&true.into(), &false.into()));

    let _waits = scene.shell("waits", &["run", "--wait", "30s", "job", "--", "true"]);
    assert!(until(SECOND * 10, || check()["drain"] == true), "{}", check());
    printed(&scene.output(&["release", "--ticket", ticket]));
}

/// Somebody else holds it: no ticket, and the code that was asked for.
#[test]
fn a_busy_name_gives_no_ticket() {
    let scene = Scene::new();
    let ticket = printed(&scene.output(&["acquire", "--label", "alpha", "job"]));
    let (code, told) = refused(&scene.output(&["acquire", "--no-wait", "job"]));
    assert_eq!(code, Some(75), "{told}");
    assert!(told.contains("alpha"), "{told}");
    let args = ["acquire", "--no-wait", "--conflict-exit-code", "3", "job"];
    assert_eq!(refused(&scene.output(&args)).0, Some(3));
    printed(&scene.output(&["release", "--ticket", &ticket]));
}

/// Whoever stops the wait holds nothing, then or later.
#[test]
fn a_wait_that_is_stopped_leaves_nothing() {
    let scene = Scene::new();
    let ticket = printed(&scene.output(&["acquire", "job"]));
    let mut waits = scene.shell("waits", &["acquire", "job"]);
    waits.wait_until_told("waiting");
    waits.signal(Signal::SIGINT);
    assert_eq!(waits.exit_within(SECOND * 10), Some(130), "{}", waits.told());
    assert!(waits.told().contains("nothing is held"), "{}", waits.told());
    printed(&scene.output(&["release", "--ticket", &ticket]));
    assert_eq!(scene.state("job"), "free");
}

/// A ticket that nobody reads leaves no lease behind.
#[test]
fn a_ticket_that_nobody_reads_frees_the_name() {
    let scene = Scene::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = scene.lease(&["acquire", "job"]).stdout(writer).output().unwrap();
    assert_eq!(ended.status.code(), Some(71), "{}", text(&ended.stderr));
    assert_eq!(scene.state("job"), "free");
}
