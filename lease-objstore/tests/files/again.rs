//! Running a test again as a process of its own: with other mounts, as another user, or to be
//! killed.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tells the second run where to work.
const FOLDER: &str = "LEASE_TEST_AGAIN";

/// The folder to work in, if this is the second run.
pub(crate) fn inside() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// This program, to run only the test of this name, in `folder`; behind `wrapper`, if there is one.
pub(crate) fn again(wrapper: &[&str], test: &str, folder: &Path) -> Command {
    let this = std::env::current_exe().unwrap();
    let mut command = match wrapper.split_first() {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments).arg(this);
            command
        }
        None => Command::new(this),
    };
    command.args(["--exact", test, "--nocapture"]).env(FOLDER, folder);
    command
}

/// Runs the test of this name again, as root of a namespace of its own, after `prepare` in a shell
/// that knows the folder as `$0`.
pub(crate) fn with_mounts(test: &str, folder: &Path, prepare: &str) {
    let script = format!("{prepare} && exec \"$@\"");
    let folder_text = folder.to_str().unwrap();
    let wrapper = ["unshare", "--map-root-user", "--mount", "sh", "-c", &script, folder_text];
    // Somebody has said so, and been told what is not run then.
    if std::env::var_os("LEASE_TEST_WITHOUT_NAMESPACES").is_some() {
        return;
    }
    let may = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).status();
    assert!(
        may.is_ok_and(|status| status.success()),
        "{test} needs a mount namespace of its own, and this system allows none: install util-linux, and \
         let users have namespaces (CONTRIBUTING.md tells how)"
    );
    let status = again(&wrapper, test, folder).status().unwrap();
    assert!(status.success(), "{test} failed in a namespace of its own: {status}");
}

/// Runs the test of this name again as nobody in particular.
pub(crate) fn as_nobody(test: &str, folder: &Path) {
    // Whoever is not root is stopped by modes already.
    let wrapper: &[&str] = match is_root() {
        true => &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
        false => &[],
    };
    let status = again(wrapper, test, folder).status().unwrap();
    assert!(status.success(), "{test} failed as another user: {status} {:?}", status.signal());
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}
