//! A folder of leases, and people at shells.

use std::fmt::Display;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A folder of leases of its own, or another store.
pub(crate) struct Scene {
    folder: TempDir,
    elsewhere: Option<String>,
    /// What the command needs in its environment to get there.
    login: Vec<(&'static str, String)>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), elsewhere: None, login: Vec::new() }
    }

    /// With the leases at this URL. The store is there once one was held.
    #[cfg(any(feature = "mongo", feature = "nats", feature = "aws"))]
    pub(crate) fn at(url: String) -> Self {
        Self { elsewhere: Some(url), ..Self::new() }
    }

    /// The same, where the environment has to tell who one is.
    #[cfg(feature = "aws")]
    pub(crate) fn at_with(url: String, login: Vec<(&'static str, String)>) -> Self {
        Self { login, ..Self::at(url) }
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    pub(crate) fn url(&self) -> String {
        let folder = || format!("file://{}", self.path("leases").display());
        self.elsewhere.clone().unwrap_or_else(folder)
    }

    /// `lease ARGS`, with this scene's store as the default.
    pub(crate) fn lease(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lease"));
        command.args(args);
        self.put_into(&mut command);
        command
    }

    /// A shell that runs `script`, which finds `lease` and the store.
    pub(crate) fn script(&self, script: &str) -> Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_lease")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap();
        let all = [programs].into_iter().chain(std::env::split_paths(&path));
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("PATH", std::env::join_paths(all).unwrap());
        self.put_into(&mut command);
        command
    }

    /// Makes it a command of this scene.
    fn put_into(&self, command: &mut Command) {
        command.env("LEASE_URL", self.url()).stdin(Stdio::null());
        command
            .env("XDG_RUNTIME_DIR", self.path(""))
            .env_remove("LEASE_TICKET")
            .env_remove("LEASE_ID");
        command.envs(self.login.iter().map(|(name, value)| (name, value)));
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.lease(args).output().unwrap()
    }

    /// Starts it in the background, its standard error in the file `NAME.err`.
    pub(crate) fn shell(&self, name: &str, args: &[&str]) -> Shell {
        self.shell_of(name, self.lease(args))
    }

    /// The same for any command.
    pub(crate) fn shell_of(&self, name: &str, mut command: Command) -> Shell {
        let told = self.path(&format!("{name}.err"));
        let child = command
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(self.path(&format!("{name}.out"))).unwrap())
            .stderr(std::fs::File::create(&told).unwrap())
            .spawn()
            .unwrap();
        Shell { child, told }
    }

    /// The program where another user may run it too.
    pub(crate) fn as_somebody_else(&self) -> PathBuf {
        let program = self.path("lease");
        std::fs::copy(env!("CARGO_BIN_EXE_lease"), &program).unwrap();
        program
    }

    /// Takes the right to write away from all of the store, for others than root.
    pub(crate) fn let_only_read(&self) {
        self.change_rights("a+rX,a-w");
    }

    /// Gives it back, so that the folder can be removed.
    pub(crate) fn let_all_write(&self) {
        self.change_rights("u+w");
    }

    fn change_rights(&self, rights: &str) {
        std::fs::set_permissions(self.path(""), Permissions::from_mode(0o755)).unwrap();
        let changed =
            Command::new("chmod").args(["-R", rights]).arg(self.path("leases")).status().unwrap();
        assert!(changed.success());
    }

    pub(crate) fn status(&self, name: &str) -> Value {
        let output = self.output(&["status", "--json", name]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn state(&self, name: &str) -> String {
        self.status(name)["state"].as_str().unwrap().to_owned()
    }

    pub(crate) fn epoch(&self, name: &str) -> u64 {
        self.status(name)["epoch"].as_u64().unwrap()
    }

    /// Waits until a file has this many lines at the least, and gives them.
    pub(crate) fn lines(&self, file: &str, at_least: usize) -> Vec<String> {
        let read = || read(&self.path(file)).lines().map(str::to_owned).collect::<Vec<_>>();
        until(SECOND * 10, || read().len() >= at_least);
        read()
    }

    fn is_there(&self) -> bool {
        self.elsewhere.is_some() || self.path("leases").exists()
    }

    pub(crate) fn wait_for_state(&self, name: &str, state: &str) {
        assert!(
            until(SECOND * 10, || self.is_there() && self.state(name) == state),
            "{name} never came to be {state}: {}",
            self.status(name)
        );
    }
}

/// A `lease` in the background. It is killed when the test is over.
pub(crate) struct Shell {
    child: Child,
    told: PathBuf,
}

impl Shell {
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    /// The watchdog of its command, once there is one.
    pub(crate) fn watchdog(&self) -> Option<Pid> {
        let children = read(format!("/proc/{0}/task/{0}/children", self.pid()).as_ref());
        let is_watchdog =
            |pid: &&str| read(format!("/proc/{pid}/cmdline").as_ref()).contains("\0__watchdog\0");
        let found = children.split_whitespace().find(is_watchdog)?;
        found.parse().ok().map(Pid::from_raw)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// What it said on standard error so far.
    pub(crate) fn told(&self) -> String {
        read(&self.told)
    }

    pub(crate) fn wait_until_told(&self, what: &str) {
        assert!(until(SECOND * 10, || self.told().contains(what)), "not told: {}", self.told());
    }

    /// How many processes it has started that it has not seen the end of.
    pub(crate) fn children(&self) -> usize {
        let children = read(format!("/proc/{0}/task/{0}/children", self.pid()).as_ref());
        children.split_whitespace().count()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Its exit code, within this time.
    pub(crate) fn exit_within(&mut self, time: Duration) -> Option<i32> {
        let mut status = None;
        until(time, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(status.is_some(), "it still runs after {time:?}: {}", self.told());
        status.unwrap().code()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = kill(self.pid(), Signal::SIGCONT);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls for a condition until it holds or the time is up.
pub(crate) fn until(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The letter by which the system tells what a process does: `T` stopped, `Z` ended; nothing if there
/// is none.
pub(crate) fn state_of(pid: impl Display) -> Option<char> {
    let stat = read(format!("/proc/{pid}/stat").as_ref());
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether nothing is added to a file any more.
pub(crate) fn stands_still(file: &Path) -> bool {
    let before = read(file);
    std::thread::sleep(Duration::from_millis(400));
    read(file) == before
}

pub(crate) fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A script that writes the time in nanoseconds to `log`, ten times a second, for ever.
pub(crate) fn ticking(log: &Path) -> String {
    format!("while :; do date +%s%N >>{}; sleep .1; done", log.display())
}
