//! What is known of object stores and folders, and what the code looks like that does not know it.

use super::Fact;
use crate::rules::edits::edit;

const BODY: &str = "lease-objstore/src/body.rs";
const CLOUD: &str = "lease-objstore/src/cloud.rs";
const CONNECTOR: &str = "lease-objstore/src/cloud/connector.rs";
const EXCLUSIVE: &str = "lease-objstore/src/steps/exclusive.rs";
const FENCED: &str = "lease-objstore/src/fenced.rs";
const JUDGE: &str = "lease-objstore/src/judge.rs";
const LIFETIME: &str = "lease-objstore/src/lifetime.rs";
const LISTING: &str = "lease-objstore/src/listing.rs";
const OBJECTS: &str = "lease-objstore/src/objects.rs";
const PROBE: &str = "lease-objstore/src/probe.rs";
const PUBLISH: &str = "lease-objstore/src/publish.rs";

const PACKAGE: &str = "lease-objstore";
const BUCKETS: &[&str] = &["--test", "buckets"];
const FILES: &[&str] = &["--test", "files"];
const LIB: &[&str] = &["--lib"];

pub(super) const FACTS: &[Fact] = &[
    // S3's entity tags are hashes of what is in an object.
    Fact {
        id: "B1",
        edits: &[edit(BODY, "beat: mine.beat,", "beat: 0,")],
        package: PACKAGE,
        target: BUCKETS,
        test: "conformance::s3_seaweedfs::renewal::changes_nothing_but_the_revision",
    },
    // The driver sends again by itself what failed, writes too.
    Fact {
        id: "B2",
        edits: &[edit(CLOUD, "max_retries: 0,", "max_retries: 10,")],
        package: PACKAGE,
        target: BUCKETS,
        test: "failures::a_throttled_renewal_is_sent_once",
    },
    // The driver says "exists" of a 409, which a store says too that is busy with the key.
    Fact {
        id: "B3",
        edits: &[edit(
            EXCLUSIVE,
            "return Ok(here(stamp));
                }
                Ok(Created::Exists) => {}",
            "return Ok(here(stamp));
                }
                Ok(Created::Exists) => return Ok(Installed::Refused),",
        )],
        package: PACKAGE,
        target: BUCKETS,
        test: "failures::answers_to_a_create_that_mislead",
    },
    // A create whose answer is lost was made, or it was not: the object tells.
    Fact {
        id: "B4",
        edits: &[edit(
            EXCLUSIVE,
            "Ok(Created::Done(_)) => return Ok(fate),
                Ok(Created::Exists) => {}
                Err(error) if is_unclear(&error) => unclear = Some(error),",
            "Ok(Created::Done(_)) => return Ok(fate),
                Ok(Created::Exists) => {}",
        )],
        package: PACKAGE,
        target: BUCKETS,
        test: "failures::one_answer_that_is_lost",
    },
    // A store that refuses a create once need not do so when several come at a time.
    Fact {
        id: "B5",
        edits: &[edit(
            PROBE,
            "&& trace.is_kept()
            && (!raced || self.race().await?);",
            "&& trace.is_kept();",
        )],
        package: PACKAGE,
        target: BUCKETS,
        test: "probe::a_store_that_ignores_conditions_is_found_out",
    },
    // A bucket shows times in whole seconds, so that an age may be a second less than it seems.
    Fact {
        id: "B6",
        edits: &[edit(
            JUDGE,
            "self.from.since(modified).saturating_sub(resolution)",
            "self.from.since(modified)",
        )],
        package: PACKAGE,
        target: LIB,
        test: "judge::tests::a_record_is_stale_once_it_is_surely_older_than_its_ttl::\
               case_2_within_the_resolution",
    },
    // A listing that fails shows nothing, which is not that nobody is there.
    Fact {
        id: "B7",
        edits: &[edit(
            OBJECTS,
            "let listed = self.loose.list_with_delimiter(Some(&folder)).await;
        let listed = listed.map_err(|error| translate(error, Doing::Reading))?;",
            "let Ok(listed) = self.loose.list_with_delimiter(Some(&folder)).await else {
            return Ok(Vec::new());
        };",
        )],
        package: PACKAGE,
        target: BUCKETS,
        test: "failures::a_list_that_fails_is_no_answer",
    },
    // A connection lives in the runtime that first used it.
    Fact {
        id: "B8",
        edits: &[edit(
            CONNECTOR,
            "        let thread = Thread::start(client).map_err(|error| generic(error.into()))?;
        let client = HttpClient::new(thread);
",
            "",
        )],
        package: PACKAGE,
        target: BUCKETS,
        test: "failures::a_runtime_that_is_blocked",
    },
    // A request may arrive long after it was sent, over whatever is there by then.
    Fact {
        id: "B9",
        edits: &[edit(
            FENCED,
            "let mode = last.version.map_or(PutMode::Create, PutMode::Update);",
            "let mode = PutMode::Overwrite;",
        )],
        package: PACKAGE,
        target: BUCKETS,
        test: "fencing::a_write_that_is_on_its_way_is_refused_on_s3",
    },
    // A file is there before its bytes are, and what it held is gone before the new bytes are there.
    Fact {
        id: "B10",
        edits: &[
            edit(
                PUBLISH,
                "let (staging, mut file, new_folder) = stage(root, path)?;",
                "let (mut file, new_folder) = open(root, path, how)?;",
            ),
            edit(
                PUBLISH,
                "        closed?;
        match how.create {
            true => fs::hard_link(&staging, path)?,
            false => fs::rename(&staging, path)?,
        }
        Ok(tag)
    });
    if how.create || published.is_err() {
        // Left behind at the worst; it holds nothing.
        fs::remove_file(&staging).ok();
    }
",
                "        closed?;
        Ok(tag)
    });
",
            ),
            edit(
                PUBLISH,
                "fn stage(root: &Path, path: &Path) -> io::Result<(PathBuf, File, bool)> {",
                "fn open(root: &Path, path: &Path, how: How) -> io::Result<(File, bool)> {",
            ),
            edit(
                PUBLISH,
                "    let mut number: u64 = 1;
    loop {
        let mut staging = path.as_os_str().to_owned();
        staging.push(format!(\"#{number}\"));
        let staging = PathBuf::from(staging);
        match OpenOptions::new().write(true).create_new(true).open(&staging) {
            Ok(file) => return Ok((staging, file, new_folder)),
            // Somebody else writes the same file, or did when it was killed.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
",
                "    loop {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).create_new(how.create);
        match options.open(path) {
            Ok(file) => return Ok((file, new_folder)),
",
            ),
        ],
        package: PACKAGE,
        target: FILES,
        test: "full_disk::a_small_disk_runs_full",
    },
    // A file system folds, cuts and refuses names that are different leases'.
    Fact {
        id: "B11",
        edits: &[edit(
            OBJECTS,
            "self.root.clone().join(name.portable())",
            "self.root.clone().join(name.as_str())",
        )],
        package: PACKAGE,
        target: FILES,
        test: "races::no_two_names_are_one_folder",
    },
    // A power loss may keep a file's name and lose what was in it.
    Fact {
        id: "B12",
        edits: &[edit(
            LISTING,
            "if size == VOID.len() as u64 { Self::Void } else { Self::Granted }",
            "if size == crate::body::GRANTED.len() as u64 { Self::Granted } else { Self::Void }",
        )],
        package: PACKAGE,
        target: LIB,
        test: "listing::tests::what_counts_is_read_from_the_names::case_06_emptied",
    },
    // A mark outlives the file that told its claim's ttl, and is in everybody's listings as long as it
    // is there.
    Fact {
        id: "B13",
        edits: &[edit(
            LIFETIME,
            "encode(&Told { ttl_ms: whole_ms(ttl) })",
            "let _ = ttl;
    Ok(Bytes::new())",
        )],
        package: PACKAGE,
        target: FILES,
        test: "marks::of_attempts_that_were_never_answered_they_go_after_a_few_ttls",
    },
    // What was written is on the disk once it is flushed, and not before.
    Fact {
        id: "B14",
        edits: &[edit(PUBLISH, "file.sync_all()?;", "")],
        package: PACKAGE,
        target: FILES,
        test: "power_loss::what_gives_out_an_epoch_is_flushed::case_1_durable",
    },
    // A file's name is on the disk once its folder is flushed: to flush the file is not enough.
    Fact {
        id: "B15",
        edits: &[edit(PUBLISH, "File::open(folder)?.sync_all()", "File::open(folder).map(drop)")],
        package: PACKAGE,
        target: FILES,
        test: "power_loss::what_gives_out_an_epoch_is_flushed::case_1_durable",
    },
];
