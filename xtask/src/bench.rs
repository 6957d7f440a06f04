//! Runs the benchmarks, in turn, and writes down what they found.

#![expect(
    clippy::disallowed_methods,
    reason = "it waits for programs, for which only real time passes"
)]

mod build;
mod etcd;
mod in_process;
mod machine;
mod others;
mod page;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;
use measure::Finding;
use serde_json::json;

use crate::step::{Failure, cargo, workspace};
use others::Others;

/// The page that is written.
const PAGE: &str = "BENCHMARKS.md";

/// One benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Subject {
    /// What the library itself costs
    InProcess,
    /// A folder, beside borg's lock, flock and distributed-lock
    Files,
    /// MongoDB, beside its bare commands, httk-store and distributed-lock
    MongoAgainstRaw,
    /// NATS, beside its bare requests
    NatsAgainstRaw,
    /// A bucket, beside its bare requests and borg's lock
    ObjstoreAgainstRaw,
    /// All stores beside etcd
    BesideEtcd,
    /// Thousands of leases, and many who want one
    Scale,
    /// How long each feature takes to build, and how large the command is
    Build,
}

impl Subject {
    /// As its bench is called.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// What stands above its findings.
    const fn title(self) -> &'static str {
        match self {
            Self::InProcess => "In process",
            Self::Files => "Files",
            Self::MongoAgainstRaw => "MongoDB",
            Self::NatsAgainstRaw => "NATS",
            Self::ObjstoreAgainstRaw => "Buckets",
            Self::BesideEtcd => "Beside etcd",
            Self::Scale => "Many at once",
            Self::Build => "Building",
        }
    }

    fn run(self, place: &Place, others: &Others) -> Result<(), Failure> {
        match self {
            Self::Build => build::measure(&place.findings(self)),
            _ => self.run_bench(place, others),
        }
    }

    fn run_bench(self, place: &Place, others: &Others) -> Result<(), Failure> {
        let name = self.name();
        let mut command = cargo(&["bench", "--workspace", "--all-features", "--bench", &name]);
        command.env(measure::OUT, place.findings(self)).envs(others.variables());
        if self == Self::InProcess {
            return in_process::measure(
                command,
                &place.target.join("criterion"),
                &place.findings(self),
            );
        }
        let ended = aside(&mut command);
        // One that missed a wish ends with failure, and has found all the same what there is.
        let whole = place.read(self)?.iter().any(|found| matches!(found, Finding::End(_)));
        if whole { Ok(()) } else { ended }
    }
}

/// Where findings are kept.
struct Place {
    target: PathBuf,
}

impl Place {
    fn find() -> Result<Self, Failure> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = workspace().join(target.unwrap_or_else(|| "target".into()));
        let folder = target.join("bench");
        fs::create_dir_all(&folder).map_err(|why| wrong(&folder, why))?;
        Ok(Self { target })
    }

    /// The file of one bench, a finding in each line.
    fn findings(&self, subject: Subject) -> PathBuf {
        self.target.join("bench").join(subject.name()).with_extension("jsonl")
    }

    /// Nothing if it has never run.
    fn read(&self, subject: Subject) -> Result<Vec<Finding>, Failure> {
        let path = self.findings(subject);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(wrong(&path, why)),
        };
        let read = |line| serde_json::from_str(line).map_err(|why| wrong(&path, why.into()));
        text.lines().map(read).collect()
    }
}

/// Runs all of them, or some, and writes the page.
pub(crate) fn run(only: &[Subject], as_json: bool) -> Result<(), Failure> {
    let place = Place::find()?;
    let subjects = if only.is_empty() { Subject::value_variants() } else { only };
    let alone = [Subject::InProcess, Subject::Scale, Subject::Build];
    let others = match subjects.iter().all(|subject| alone.contains(subject)) {
        true => Others::default(),
        false => Others::prepare(&place.target),
    };
    for subject in subjects {
        eprintln!("\n=== {} ===", subject.name());
        let path = place.findings(*subject);
        match fs::remove_file(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(wrong(&path, why)),
            _ => subject.run(&place, &others)?,
        }
    }
    write(as_json)
}

/// Writes the page from what is known of each.
pub(crate) fn write(as_json: bool) -> Result<(), Failure> {
    let place = Place::find()?;
    let mut found = Vec::new();
    for subject in Subject::value_variants() {
        found.push((*subject, place.read(*subject)?));
    }
    let page = workspace().join(PAGE);
    fs::write(&page, page::of(&found)).map_err(|why| wrong(&page, why))?;
    eprintln!("\nwritten: {PAGE}");
    if as_json {
        let all = found.iter().map(|(subject, found)| (subject.name(), json!(found)));
        println!("{}", serde_json::Value::Object(all.collect()));
    }
    Ok(())
}

/// Runs it with all that it prints where it does not meet the JSON.
fn aside(command: &mut Command) -> Result<(), Failure> {
    let said = format!("{command:?}");
    eprintln!("$ {said}");
    let status = command.stdin(Stdio::null()).stdout(io::stderr()).status();
    match status.map_err(|why| Failure::Io(said.clone(), why))? {
        status if status.success() => Ok(()),
        _ => Err(Failure::Command(said)),
    }
}

fn wrong(path: &Path, why: io::Error) -> Failure {
    Failure::Io(path.display().to_string(), why)
}

/// Adds findings to a bench's file.
fn keep(path: &Path, found: &[Finding]) -> Result<(), Failure> {
    let lines = found.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let lines = lines.map_err(|why| wrong(path, why.into()))?;
    fs::write(path, lines.join("\n") + "\n").map_err(|why| wrong(path, why))
}
