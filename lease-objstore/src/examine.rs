//! Whether a live folder or bucket gives what leases need of it.

use bytes::Bytes;
use lease_core::checkup::{self, Check, Checkup, Guarantee};
use lease_core::{Error, Name, Result};
use object_store::{Error as Driver, PutMode, PutPayload, UpdateVersion};

use crate::error::{Doing, KIND, translate};
use crate::options::{Place, WithoutCreate};
use crate::probe::{Trace, no_create};
use crate::store::ObjStore;
use crate::{Options, Probe, connect};

mod disk;
mod rights;
mod scratch;

use scratch::Scratch;

const CREATE: Guarantee =
    Guarantee::new("conditional-create", "of those who create one file at once, one does");
const LISTING: Guarantee = Guarantee::new(
    "listing",
    "a listing shows at once what was written, and what was deleted no more",
);
const OVERWRITE: Guarantee = Guarantee::new(
    "conditional-overwrite",
    "a fenced object is overwritten only by who knows its last write",
);
const VERSIONS: Guarantee =
    Guarantee::new("versions", "what a renewal replaces is not kept for ever");
const LIFECYCLE: Guarantee =
    Guarantee::new("lifecycle", "no rule of the bucket removes the files of leases");
const TRIAL: Guarantee = Guarantee::new("opens", "a lease store can be opened here");

/// Asks a live folder or bucket for each guarantee that leases need of it.
///
/// It writes in a folder of its own below that of the leases, beside it where that is not there
/// yet, and removes it again; the leases themselves are not touched. What is wrong, or that nobody
/// answers, is a finding and no error. It takes some seconds, and up to a minute where the store's
/// clock is coarse.
///
/// # Cancel safety
///
/// Safe, but what was written stays, in a folder whose name has `doctor-` in it.
pub async fn examine(options: Options) -> Checkup {
    let mut checks = Vec::new();
    if let Some(found) = scratch::place(&options, &mut checks).await {
        disk::kind(&options, &mut checks);
        if options.read_only {
            checks.extend(lifecycle(&options));
            checks.push(TRIAL.unknown("it was opened to look only: nothing was written"));
        } else {
            let scratch = Scratch::below(&options, found);
            look_over(&scratch, &mut checks).await;
            scratch.clear(&mut checks).await;
        }
    }
    Checkup::new(KIND, checks)
}

/// What a person has to look at: no object store's client is told.
fn lifecycle(options: &Options) -> Option<Check> {
    let is_bucket = !matches!(options.place, Place::Local(_));
    is_bucket.then(|| {
        LIFECYCLE.unknown(
            "clients are not told a bucket's lifecycle rules: see that none of them expires or \
             archives what is under the prefix, but for noncurrent versions",
        )
    })
}

/// The first that is broken ends it: the others rest on it.
async fn look_over(scratch: &Scratch, checks: &mut Vec<Check>) {
    if !rights::all(scratch, checks).await {
        return;
    }
    checks.extend(lifecycle(&scratch.options));
    let mut store = match scratch.open().await {
        Ok(store) => store,
        Err(error) => return checks.push(TRIAL.failed(&error)),
    };
    let trace = match store.leave_a_trace().await {
        Ok(trace) => trace,
        Err(error) => return checks.push(TRIAL.failed(&error)),
    };
    let listing = is_listed(&store, scratch, &trace).await;
    checks.push(LISTING.judged(&listing));
    let Ok(elects) = exactly_once(&store, scratch, &trace, checks).await else { return };
    if listing.is_err() {
        return;
    }
    if !matches!(scratch.options.place, Place::Local(_)) {
        checks.push(overwritten(&store).await);
        checks.push(versions(scratch, &trace));
    }
    disk::times(&store, scratch, checks).await;
    if elects || scratch.found.elected {
        store.elect();
    }
    match try_out(&mut store, scratch).await {
        Ok(tried) => checks.extend(tried),
        Err(error) => checks.push(TRIAL.failed(&error)),
    }
}

/// Whether a listing shows a file from its writing to its deletion, and no longer.
async fn is_listed(store: &ObjStore, scratch: &Scratch, trace: &Trace) -> Result<String> {
    let elects = scratch.options.without_create == WithoutCreate::Elect;
    trace.is_listed(scratch.found.elected, elects)?;
    // Nobody else writes there. Some stores show the folder itself.
    let listed = store.objects.list_root().await?;
    let Some((left, _)) = listed.iter().find(|(path, _)| *path != store.objects.root) else {
        return Ok("a file was listed as soon as it was written, and until it was deleted".into());
    };
    Err(Error::misconfigured(
        format!("a file that was deleted is still listed, file=`{left}`"),
        "use a store whose listings are not of an older state; on NFS mount with \
         `lookupcache=none` or `actimeo=0`",
    ))
}

/// Whether files are created once. Where they are not, whether elections make up for that.
async fn exactly_once(
    store: &ObjStore,
    scratch: &Scratch,
    trace: &Trace,
    checks: &mut Vec<Check>,
) -> Result<bool, ()> {
    let is_exact = match trace.is_kept() {
        true => store.race().await,
        false => Ok(false),
    };
    let refuses = scratch.options.without_create == WithoutCreate::Refuse;
    let found = &scratch.found;
    let check = match is_exact {
        Err(error) => CREATE.failed(&error),
        Ok(true) if found.elected => CREATE.holds(
            "each race had one winner; files are created by election here all the same, since it \
             was not always so",
        ),
        Ok(true) => CREATE.holds("an existing file was kept, and each race had one winner"),
        Ok(false) if refuses || (found.in_use && !found.elected) => CREATE.failed(&no_create()),
        Ok(false) => {
            checks.push(CREATE.doubtful(
                "several create one file here, so files are created by election: leases are right, \
                 an exclusive takes some steps of the store's clock longer, and the shortest ttl is \
                 fifteen of them",
                "use a store that honours create-if-absent, or bear with that",
            ));
            return Ok(true);
        }
    };
    let holds = matches!(check.finding, checkup::Finding::Holds { .. });
    checks.push(check);
    if holds { Ok(false) } else { Err(()) }
}

/// Whether a write that names an older one than the last is refused.
async fn overwritten(store: &ObjStore) -> Check {
    const FIX: &str = "leases are right; to keep a fenced object too, use a store that honours \
                       conditional overwriting (If-Match)";
    let path = store.probe_path();
    let put = async |body: &'static [u8], mode: PutMode| {
        let payload = PutPayload::from_bytes(Bytes::from_static(body));
        let put = store.objects.loose.put_opts(&path, payload, mode.into()).await?;
        Ok::<_, Driver>(UpdateVersion { e_tag: put.e_tag, version: put.version })
    };
    let tried = async {
        let first = put(b"first\n", PutMode::Overwrite).await?;
        let second = put(b"second\n", PutMode::Overwrite).await?;
        let late = put(b"late\n", PutMode::Update(first)).await;
        let next = put(b"third\n", PutMode::Update(second)).await;
        Ok::<_, Driver>((late, next))
    };
    let tried = tried.await;
    if let Err(error) = store.objects.delete(&path).await {
        tracing::debug!(%error, "a probe could not be deleted");
    }
    match tried {
        Ok((Err(Driver::Precondition { .. }), Ok(_))) => {
            OVERWRITE.holds("a write that named an older one was refused")
        }
        Ok((Ok(_), _)) => OVERWRITE.doubtful("a write that named an older one went through", FIX),
        Ok((Err(Driver::Precondition { .. }), Err(Driver::Precondition { .. }))) => {
            OVERWRITE.doubtful("a write that named the last one was refused", FIX)
        }
        Ok((Err(Driver::NotImplemented { .. }), _)) => {
            OVERWRITE.doubtful("the store knows no such condition", FIX)
        }
        Ok((Err(Driver::Precondition { .. }), Err(error)) | (Err(error), _)) | Err(error) => {
            match translate(error, Doing::Writing) {
                wrong @ Error::Misconfigured { .. } => OVERWRITE.doubtful(wrong.to_string(), FIX),
                away => OVERWRITE.failed(&away),
            }
        }
    }
}

fn versions(scratch: &Scratch, trace: &Trace) -> Check {
    if trace.put.versioned && !scratch.options.numbers_writes() {
        return VERSIONS.doubtful(
            "the bucket keeps versions: each renewal leaves one, which costs money and no safety",
            "let a lifecycle rule remove the noncurrent versions of what is under the prefix, and \
             nothing else there",
        );
    }
    VERSIONS.holds("a write names no version that would be kept")
}

/// Two clients hold leases there.
async fn try_out(store: &mut ObjStore, scratch: &Scratch) -> Result<Vec<Check>> {
    store.make_marker().await?;
    let other = connect(scratch.options.clone().probe(Probe::Skip)).await?;
    let name = Name::parse("doctor")?;
    Ok(checkup::try_out([&*store, &other], &scratch.options.clock, &name).await)
}
