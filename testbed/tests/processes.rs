//! Helpers are read, paused and killed; nothing outlives the test process that started it.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

use testbed::{Helper, Result};

/// Far above what any of this takes, for a machine that is busy.
const SOON: Duration = Duration::from_secs(30);
/// Long enough that a process that runs would have spoken.
const A_WHILE: Duration = Duration::from_millis(300);

/// Answers each line with the same line.
fn echo() -> Result<Helper> {
    Helper::spawn(Command::new("cat"))
}

#[test]
fn a_paused_helper_says_nothing_until_it_is_resumed() -> Result<()> {
    let mut helper = echo()?;
    helper.say("one")?;
    assert_eq!(helper.line(SOON)?, "one");
    helper.pause()?;
    helper.say("two")?;
    helper.line(A_WHILE).expect_err("it stands still");
    helper.resume()?;
    assert_eq!(helper.line(SOON)?, "two");
    Ok(())
}

#[test]
fn a_line_is_waited_for_by_a_part_of_it() -> Result<()> {
    let mut helper = echo()?;
    helper.say("starting")?;
    helper.say("granted epoch 7")?;
    assert_eq!(helper.line_with("granted", SOON)?, "granted epoch 7");
    Ok(())
}

#[test]
fn a_missing_line_is_told_with_the_lines_before_it() -> Result<()> {
    let mut helper = echo()?;
    helper.say("starting")?;
    helper.close_input();
    let told = helper.line_with("granted", SOON).expect_err("the output ends");
    assert!(told.to_string().contains("starting"), "{told}");
    Ok(())
}

#[test]
fn a_killed_helper_ended_by_the_signal() -> Result<()> {
    let helper = echo()?;
    helper.kill()?;
    assert_eq!(helper.wait(SOON)?.signal(), Some(9));
    helper.pause().expect_err("it has ended");
    Ok(())
}

#[test]
fn a_helper_that_ends_by_itself_keeps_its_exit_code() -> Result<()> {
    let mut command = Command::new("sh");
    command.args(["-c", "exit 7"]);
    assert_eq!(Helper::spawn(command)?.wait(SOON)?.code(), Some(7));
    Ok(())
}

#[test]
fn what_a_helper_started_ends_with_it() -> Result<()> {
    let mut command = Command::new("sh");
    command.args(["-c", "cat /dev/zero >/dev/null & echo $!; wait"]);
    let mut helper = Helper::spawn(command)?;
    let grandchild: u32 = helper.line(SOON)?.parse().expect("a process id");
    assert!(lives(grandchild));
    drop(helper);
    gone_soon(|| !lives(grandchild));
    Ok(())
}

#[test]
fn a_server_ends_when_the_process_that_started_it_is_killed() -> Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_testbed"));
    command.arg("nats").env_remove("LEASE_TEST_NATS_URL");
    let mut starter = Helper::spawn(command)?;
    let line = starter.line(SOON)?;
    let address = line.rsplit('/').next().and_then(|host| host.parse::<SocketAddr>().ok());
    let address = address.expect("it prints the address");
    TcpStream::connect(address).expect("it answers");
    starter.kill()?;
    gone_soon(|| TcpStream::connect(address).is_err());
    Ok(())
}

#[test]
fn a_server_named_by_the_environment_is_used_and_left_alone() -> Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_testbed"));
    command.arg("nats").env("LEASE_TEST_NATS_URL", "nats://127.0.0.1:1");
    let mut user = Helper::spawn(command)?;
    assert_eq!(user.line(SOON)?, "LEASE_TEST_NATS_URL=nats://127.0.0.1:1");
    user.close_input();
    assert!(user.wait(SOON)?.success());
    Ok(())
}

#[test]
fn a_server_that_cannot_be_had_is_an_error_with_the_remedy() {
    let nothing = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_testbed"))
        .arg("nats")
        .env_remove("LEASE_TEST_NATS_URL")
        .env("CARGO_TARGET_DIR", nothing.path())
        .env("PATH", nothing.path())
        .output()
        .expect("it runs");
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("remedy: "), "{told}");
}

fn lives(process: u32) -> bool {
    let probe = Command::new("sh")
        .args(["-c", "kill -0 \"$1\" 2>&1", "probe"])
        .arg(process.to_string())
        .output();
    probe.is_ok_and(|output| output.status.success())
}

/// What is killed from outside is gone some moments later.
#[expect(clippy::disallowed_methods, reason = "a killed process takes real time to go")]
fn gone_soon(gone: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !gone() {
        assert!(Instant::now() < end, "still there after {SOON:?}");
        std::thread::yield_now();
    }
}

/// Two days off, beside which nothing that the test takes counts.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn a_process_may_be_shown_another_wall_clock() -> Result<()> {
    const TWO_DAYS: i64 = 2 * 24 * 3600;
    let shim = testbed::Shim::build()?;
    let mut seen = Vec::new();
    for ahead in [0, TWO_DAYS, -TWO_DAYS] {
        let mut command = Command::new("date");
        command.arg("+%s");
        shim.shift(&mut command, ahead);
        let shown: i64 = Helper::spawn(command)?.line(SOON)?.parse().expect("seconds");
        seen.push(shown);
    }
    let off = |shown: i64, ahead: i64| (shown - seen[0] - ahead).abs() < 3600;
    assert!(off(seen[1], TWO_DAYS) && off(seen[2], -TWO_DAYS), "{seen:?}");
    Ok(())
}
