//! One running server: started from a recipe, or somebody's own that is only named.

use std::env;
use std::ffi::OsString;
use std::fmt::{self, Debug, Formatter};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{Error, OrRemedy, Result};
use crate::port::Port;
use crate::process::Process;
use crate::program::Program;
use crate::wait::{self, Look};

/// A server that answers at [`url`](Self::url).
///
/// One that the testbed started can be paused, killed and restarted, and ends with this value.
/// One that was named by an environment variable is left alone: those methods are errors then.
#[derive(Debug)]
pub struct Server {
    url: String,
    own: Option<Own>,
}

/// How to start a server, and to start it again on the same files and ports.
pub(crate) struct Recipe {
    pub(crate) program: Program,
    pub(crate) url: String,
    pub(crate) arguments: Vec<OsString>,
    /// The server's files, and its log.
    pub(crate) folder: TempDir,
    /// Held for as long as the server may be started again.
    pub(crate) ports: Vec<Port>,
    /// Asks the server something that it can answer only when it is ready for tests.
    pub(crate) probe: Box<Probe>,
    pub(crate) within: Duration,
}

/// The reason is shown when the server never got ready.
pub(crate) type Probe = dyn Fn() -> std::result::Result<(), String> + Send + Sync;

/// The process is dropped first: it must be gone before its files and ports are given up.
#[derive(Debug)]
struct Own {
    process: Process,
    recipe: Recipe,
}

impl Server {
    /// The one that the environment variable names, if it is set.
    pub(crate) fn named_by(variable: &str) -> Option<Self> {
        let url = env::var(variable).ok().filter(|url| !url.is_empty())?;
        Some(Self::at(url))
    }

    /// One that somebody else runs.
    pub(crate) fn at(url: String) -> Self {
        Self { url, own: None }
    }

    /// Starts one and waits until it answers.
    pub(crate) fn start(recipe: Recipe) -> Result<Self> {
        let server = Self::start_unready(recipe)?;
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Starts one without waiting, for clusters whose nodes get ready only together.
    pub(crate) fn start_unready(recipe: Recipe) -> Result<Self> {
        let process = recipe.spawn()?;
        Ok(Self { url: recipe.url.clone(), own: Some(Own { process, recipe }) })
    }

    /// Where a client connects.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether the testbed started it, and so may also end it.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.own.is_some()
    }

    /// The number of its process, until that is started again.
    ///
    /// # Errors
    ///
    /// When it is not ours.
    pub fn process(&self) -> Result<u32> {
        Ok(self.own()?.process.id())
    }

    /// Stops the process where it stands: connections stay open and nothing is answered.
    ///
    /// # Errors
    ///
    /// When it is not ours, or has ended.
    pub fn pause(&self) -> Result<()> {
        self.own()?.process.pause()
    }

    /// Lets a paused process go on.
    ///
    /// # Errors
    ///
    /// When it is not ours, or has ended.
    pub fn resume(&self) -> Result<()> {
        self.own()?.process.resume()
    }

    /// Kills the process with no chance to clean up, and waits for its end. Its files stay.
    ///
    /// # Errors
    ///
    /// When it is not ours.
    pub fn kill(&self) -> Result<()> {
        self.own()?.process.kill()
    }

    /// Asks the process to end in good order, and waits for that. Its files stay.
    ///
    /// # Errors
    ///
    /// When it is not ours, or does not end.
    pub fn stop(&self) -> Result<()> {
        let own = self.own()?;
        own.process.terminate(own.recipe.within).map(drop)
    }

    /// Starts it again on the files and ports that it had, killing it first if it still runs.
    ///
    /// # Errors
    ///
    /// When it is not ours, or does not get ready.
    pub fn restart(&mut self) -> Result<()> {
        let own = self.own.as_mut().ok_or_else(|| not_ours(&self.url))?;
        own.process.kill()?;
        own.process = own.recipe.spawn()?;
        self.wait_until_ready()
    }

    /// Ends it in good order, and starts it again with more arguments.
    pub(crate) fn restart_with(&mut self, more: &[&str]) -> Result<()> {
        self.stop()?;
        let own = self.own.as_mut().ok_or_else(|| not_ours(&self.url))?;
        own.recipe.arguments.extend(more.iter().map(Into::into));
        self.restart()
    }

    /// Where its files are, to be looked at or changed while it does not run.
    ///
    /// # Errors
    ///
    /// When it is not ours.
    pub fn folder(&self) -> Result<&Path> {
        Ok(self.own()?.recipe.folder.path())
    }

    /// What the server printed so far.
    ///
    /// # Errors
    ///
    /// When it is not ours, or the log cannot be read.
    pub fn log(&self) -> Result<String> {
        self.own()?.recipe.log()
    }

    pub(crate) fn wait_until_ready(&self) -> Result<()> {
        let own = self.own()?;
        wait::until(own.recipe.within, || match own.process.ended() {
            Some(status) => Err(Look::Never(format!("it ended: {status}"))),
            None => (own.recipe.probe)().map_err(Look::NotYet),
        })
        .map_err(|reason| own.recipe.unready(&reason))
    }

    fn own(&self) -> Result<&Own> {
        self.own.as_ref().ok_or_else(|| not_ours(&self.url))
    }
}

impl Recipe {
    fn spawn(&self) -> Result<Process> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log_path())
            .or_remedy("the log cannot be opened", "see whether the disk is full")?;
        let errors = log.try_clone().or_remedy("the log", "see the limit of open files")?;
        let mut command = Command::new(self.program.locate()?);
        command
            .args(&self.arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        Process::spawn(&mut command, Some(self.folder.path()))
    }

    fn log(&self) -> Result<String> {
        let bytes =
            fs::read(self.log_path()).or_remedy("the log cannot be read", "run it again")?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("testbed.log")
    }

    fn unready(&self, reason: &str) -> Error {
        let log = self.log().unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n    ");
        Error::new(
            format!(
                "{} on {} was not ready within {:?}: {reason}\n  the end of its log:\n    {last}",
                self.program.name(),
                self.url,
                self.within
            ),
            "see the log above, or name a running server by the variable in testbed/src/lib.rs",
        )
    }
}

impl Debug for Recipe {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recipe")
            .field("program", &self.program)
            .field("url", &self.url)
            .field("folder", &self.folder)
            .field("ports", &self.ports)
            .finish_non_exhaustive()
    }
}

/// Enough to hold the reason, little enough to read in a failed test.
const SHOWN_LINES: usize = 20;

fn not_ours(url: &str) -> Error {
    Error::new(
        format!("the server at {url} was not started by the testbed and is left alone"),
        "unset the variable that names it, so that the testbed starts its own",
    )
}
