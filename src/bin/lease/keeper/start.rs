//! How a keeper is started, and tells that it keeps.

use std::io::{Write, stdout};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::{SystemClock, within};
use leasehold::{Clock, StoreUrl};
use nix::sys::signal::Signal;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use super::{Address, Answer, Order, Script, socket};
use crate::exit::{Cause, Failure};
use crate::itself::{NAME, itself};
use crate::taking::Waiter;
use crate::ticket::Carried;

/// Starts a process that keeps the lease of this ticket, and gives what to find it by.
///
/// An error means that nobody keeps it. The ticket may be used up then, or still work.
pub(crate) async fn start(
    store: &StoreUrl,
    carried: &Carried,
    script: Script,
    on_lost: Option<Signal>,
    patience: Duration,
    waiter: &mut Waiter<'_>,
) -> Result<Address, Failure> {
    let socket = socket::place()?;
    let order = Order {
        url: store.to_string(),
        carried: carried.clone(),
        script,
        on_lost: on_lost.map(|signal| signal as i32),
        socket: socket.clone(),
    };
    let mut process = Command::new(itself()?)
        .arg0(NAME)
        .arg("__keeper")
        .arg("--on")
        .arg(store.without_password())
        .arg("--")
        .arg(carried.name().as_str())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .current_dir("/")
        .spawn()
        .map_err(|error| cannot(&error))?;
    let pid = process.id().unwrap_or_default();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let answering = within(&clock, patience, tell_and_hear(&mut process, &order));
    let answer = waiter.interruptible(answering).await;
    let late = || Err(cannot(&"it did not answer in time"));
    match answer.and_then(|answer| answer.unwrap_or_else(late)) {
        Ok(Answer::Ready(id)) => Ok(Address::new(pid, id, socket)),
        Ok(Answer::Failed { code, message }) => Err(Failure::new(Cause::of_code(code), message)),
        Ok(_) => Err(cannot(&"it is of another version")),
        Err(failure) => {
            // It may have ended before.
            let _ = process.kill().await;
            let _ = std::fs::remove_file(socket);
            Err(failure)
        }
    }
}

async fn tell_and_hear(process: &mut Child, order: &Order) -> Result<Answer, Failure> {
    let none = || cannot(&"it has no pipe");
    let mut pipe = process.stdin.take().ok_or_else(none)?;
    let line = serde_json::to_string(order).map_err(|error| cannot(&error))?;
    pipe.write_all(format!("{line}\n").as_bytes()).await.map_err(|error| cannot(&error))?;
    let answers = process.stdout.take().ok_or_else(none)?;
    let mut answer = String::new();
    let heard = BufReader::new(answers).read_line(&mut answer).await;
    heard.map_err(|error| cannot(&error))?;
    serde_json::from_str(&answer).map_err(|_| cannot(&"it has ended"))
}

/// Tells whoever has started this process.
pub(super) fn tell(answer: &Answer) {
    if let Ok(line) = serde_json::to_string(answer) {
        let mut out = stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

fn cannot(why: &dyn std::fmt::Display) -> Failure {
    Failure::system("cannot start a keeper", why)
}
