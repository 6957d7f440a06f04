//! Histories in files: written by each process for itself, merged, and read again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use leasehold::Clock;
use leasehold::clock::SystemClock;

use crate::event::{Event, What, Who};

/// Writes one process's part of a history. Clones write into the same file.
#[derive(Clone, Debug)]
pub struct Recorder {
    file: Arc<Mutex<File>>,
}

impl Recorder {
    /// Adds to this file.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Arc::new(Mutex::new(file)) })
    }

    /// Adds what happened right now. Nothing else is written between this moment and the line.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    #[expect(clippy::expect_used, reason = "a history with holes is worth nothing")]
    pub fn add(&self, who: Who, what: What) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let event = Event { at: now(), who, what };
        let mut line = serde_json::to_vec(&event).expect("plain data");
        line.push(b'\n');
        // At once: whoever is killed has told what it knew.
        file.write_all(&line).expect("the history can be written");
    }
}

/// Now, in nanoseconds since the machine was started.
#[must_use]
pub fn now() -> u64 {
    u64::try_from(SystemClock.now().since_origin().as_nanos()).unwrap_or(u64::MAX)
}

/// Why a history cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file.
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    /// One of its lines.
    #[error("{}, line {}: {}", .0.display(), .1, .2)]
    Line(PathBuf, usize, serde_json::Error),
}

/// Reads the events of one file.
///
/// # Errors
///
/// When the file or a line of it cannot be read. A last line that was cut off is left out: its
/// process was killed.
pub fn read(path: &Path) -> Result<Vec<Event>, Unreadable> {
    let text = fs::read_to_string(path).map_err(|why| Unreadable::File(path.into(), why))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().zip(1..);
    let event = |(line, number)| {
        serde_json::from_str(line).map_err(|why| Unreadable::Line(path.into(), number, why))
    };
    lines.map(event).collect()
}

/// Merges the files of all processes into one, in the order of time, and returns its events.
///
/// # Errors
///
/// When a file cannot be read or the one of all cannot be written.
pub fn merge(parts: &[PathBuf], whole: &Path) -> Result<Vec<Event>, Unreadable> {
    let mut events = Vec::new();
    for part in parts {
        events.extend(read(part)?);
    }
    // Stable: what one process tells of one moment stays in its order.
    events.sort_by_key(|event| event.at);
    let wrong = |why| Unreadable::File(whole.into(), why);
    let mut text = Vec::new();
    for event in &events {
        serde_json::to_writer(&mut text, event).map_err(|why| wrong(why.into()))?;
        text.push(b'\n');
    }
    fs::write(whole, text).map_err(wrong)?;
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_merged_in_the_order_of_time_and_a_cut_line_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (a, b) = (path("a"), path("b"));
        let (one, two) = (Recorder::open(&a).unwrap(), Recorder::open(&b).unwrap());
        one.add(Who::Client(1), What::Ready);
        two.add(Who::Client(2), What::Ready);
        one.add(Who::Client(1), What::Calm);
        fs::write(&b, fs::read_to_string(&b).unwrap() + "{\"at\":1,").unwrap();

        let merged = merge(&[b, a], &path("all")).unwrap();

        let who: Vec<Who> = merged.iter().map(|event| event.who).collect();
        assert_eq!(who, [Who::Client(1), Who::Client(2), Who::Client(1)]);
        assert_eq!(read(&path("all")).unwrap(), merged);
    }

    #[test]
    fn a_line_that_is_no_event_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h");
        fs::write(&path, "{}\n").unwrap();
        assert!(matches!(read(&path), Err(Unreadable::Line(_, 1, _))));
    }
}
