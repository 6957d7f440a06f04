//! At a terminal: whoever types there reaches the command, and gets the shell back.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::scene::{SECOND, Scene, read, state_of, until};

/// A person at an interactive shell, on a terminal of its own.
struct Person {
    session: Child,
    keyboard: ChildStdin,
}

impl Person {
    fn sit_down(scene: &Scene) -> Self {
        // Without an editor of its own, what is typed ahead reaches whoever reads next.
        let shell = "bash --norc --noprofile --noediting -i";
        // util-linux's `script` makes the terminal, and types what it reads.
        let mut session = Command::new("script")
            .args(["--quiet", "--return", "--command", shell, "/dev/null"])
            .env("LEASE_URL", scene.url())
            .env("LEASE", env!("CARGO_BIN_EXE_lease"))
            .current_dir(scene.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keyboard = session.stdin.take().unwrap();
        Self { session, keyboard }
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Types Ctrl-Z, and nothing more before it has worked: what is typed ahead may be read by the
    /// command that is being stopped.
    fn stops_the_job(&mut self, scene: &Scene) {
        let holder = scene.status("job")["holders"][0]["pid"].to_string();
        self.types("\x1a");
        assert!(until(SECOND * 10, || state_of(&holder) == Some('T')), "it never stopped");
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.keyboard.write_all(b"\x03\nkill -KILL %% 2>/dev/null; exit\nexit\n");
        until(SECOND * 5, || self.session.try_wait().is_ok_and(|ended| ended.is_some()));
        let _ = self.session.kill();
        let _ = self.session.wait();
    }
}

fn appears(scene: &Scene, file: &str) -> String {
    let path = scene.path(file);
    assert!(until(SECOND * 10, || read(&path).ends_with('\n')), "{file} never came");
    read(&path)
}

/// A password is asked for at the terminal, though the input is a pipe.
#[test]
fn the_command_reads_the_terminal_whatever_its_input_is() {
    let scene = Scene::new();
    let mut person = Person::sit_down(&scene);
    person.types(
        "echo data | $LEASE run job -- \
         sh -c 'echo >ready; read p </dev/tty; read d; echo $p $d >got'\n",
    );
    appears(&scene, "ready");
    person.types("secret\n");
    assert_eq!(appears(&scene, "got"), "secret data\n");
}

/// Ctrl-Z gives the shell back, and `fg` goes on where it was.
#[test]
fn a_job_is_stopped_and_goes_on() {
    let scene = Scene::new();
    let mut person = Person::sit_down(&scene);
    person.types("$LEASE run job -- sh -c 'echo >ready; read line; echo $line >got'\n");
    appears(&scene, "ready");

    person.stops_the_job(&scene);
    person.types("jobs >jobs; echo >at-the-shell\n");
    appears(&scene, "at-the-shell");
    assert!(appears(&scene, "jobs").contains("Stopped"));

    person.types("fg\n");
    person.types("hello\n");
    assert_eq!(appears(&scene, "got"), "hello\n");
    person.types("echo $? >code\n");
    assert_eq!(appears(&scene, "code"), "0\n");
}

/// A job that stays stopped for longer than its ttl has lost its lease, and its command is ended
/// before anybody else can start.
#[test]
fn a_job_that_stays_stopped_loses_its_lease() {
    let scene = Scene::new();
    let mut person = Person::sit_down(&scene);
    person.types("$LEASE run --ttl 1s job -- sh -c 'echo >ready; read line; echo >got'\n");
    appears(&scene, "ready");
    person.stops_the_job(&scene);
    person.types("echo >at-the-shell\n");
    appears(&scene, "at-the-shell");

    let next = scene.output(&["run", "--wait", "5s", "job", "--", "true"]);
    assert_eq!(next.status.code(), Some(0));

    person.types("fg\n");
    person.types("echo $? >code\n");
    assert_eq!(appears(&scene, "code"), "79\n");
    assert!(!scene.path("got").exists());
}

/// A job in the background that wants to read the terminal stops, as any other, and reads once it is
/// in the foreground.
#[test]
fn a_job_in_the_background_waits_for_the_foreground() {
    let scene = Scene::new();
    let mut person = Person::sit_down(&scene);
    person.types("$LEASE run job -- sh -c 'echo >ready; read line; echo $line >got' &\n");
    appears(&scene, "ready");
    person.types("until jobs | grep -q Stopped; do sleep .05; done; echo >stopped\n");
    appears(&scene, "stopped");
    person.types("fg\n");
    person.types("hello\n");
    assert_eq!(appears(&scene, "got"), "hello\n");
}

/// Ctrl-C leaves a loop of the shell, as it does without us: while the command runs, and while it
/// is waited for.
#[test]
fn ctrl_c_leaves_a_loop() {
    let scene = Scene::new();
    let mut person = Person::sit_down(&scene);
    // Not with a `sleep`: some shells lose what comes while they start one.
    person.types(
        "for n in 1 2 3; do $LEASE run job -- sh -c 'echo >>ran; while :; do :; done'; done\n",
    );
    appears(&scene, "ran");
    person.types("\x03");
    person.types("echo $? >code\n");
    assert_eq!(appears(&scene, "code"), "130\n");
    assert_eq!(read(&scene.path("ran")), "\n");

    let _holder = scene.shell("holder", &["run", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    person.types("for n in 1 2 3; do $LEASE run job -- touch never 2>told; done\n");
    assert!(until(SECOND * 10, || read(&scene.path("told")).contains("waiting")));
    person.types("\x03");
    person.types("echo $? >code-of-the-wait\n");
    assert_eq!(appears(&scene, "code-of-the-wait"), "130\n");
    assert!(!scene.path("never").exists());
}

/// In a pipeline the terminal is for whoever reads the pipe, as `less` does.
#[test]
fn the_rest_of_a_pipeline_reads_the_terminal() {
    let scene = Scene::new();
    let mut person = Person::sit_down(&scene);
    person.types(
        "$LEASE run job -- sh -c 'echo page; until [ -e got ]; do sleep .02; done' | \
         sh -c 'read page; echo >ready; read key </dev/tty; echo $page $key >got'\n",
    );
    appears(&scene, "ready");
    person.types("q\n");
    assert_eq!(appears(&scene, "got"), "page q\n");
}

/// But if it is the command that asks for a password there, it gets it.
#[test]
fn a_command_in_a_pipeline_may_ask_at_the_terminal() {
    let scene = Scene::new();
    let mut person = Person::sit_down(&scene);
    person.types(
        "$LEASE run job -- sh -c 'echo >ready; read p </dev/tty; echo $p' | cat >got; \
         echo $? >code\n",
    );
    appears(&scene, "ready");
    person.types("secret\n");
    assert_eq!(appears(&scene, "code"), "0\n");
    assert_eq!(appears(&scene, "got"), "secret\n");
}
