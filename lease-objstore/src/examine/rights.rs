//! Which rights this user has there: each is used once.

use bytes::Bytes;
use lease_core::checkup::{Check, Finding, Guarantee};
use lease_core::{Error, Result};

use super::scratch::Scratch;
use crate::error::is_denied;
use crate::store::ObjStore;

const WRITE: Guarantee = Guarantee::new("may-write", "this user may create and overwrite files");
const READ: Guarantee = Guarantee::new(
    "may-read",
    "this user may read files, and is told of one that is missing that it is",
);
const LIST: Guarantee = Guarantee::new("may-list", "this user may list files");
const DELETE: Guarantee = Guarantee::new("may-delete", "this user may delete files");
const LOGIN: Guarantee = Guarantee::new("login", "the store lets this user in");

/// What came of the use of each right.
struct Used {
    write: Result<()>,
    read: Result<()>,
    missing: Result<bool>,
    list: Result<()>,
    delete: Result<()>,
}

/// Uses each right. Whether all are there that the other checks need.
pub(super) async fn all(scratch: &Scratch, checks: &mut Vec<Check>) -> bool {
    let store = match scratch.open().await {
        Ok(store) => store,
        Err(error) => {
            checks.push(WRITE.failed(&error));
            return false;
        }
    };
    let used = used(&store).await;
    let denied = |used: &Result<()>| used.as_ref().is_err_and(is_denied);
    // With wrong credentials all is denied, and so is the look before.
    if scratch.found.denied && denied(&used.write) && denied(&used.read) {
        checks.push(LOGIN.judged(&used.write.map(|()| String::new())));
        return false;
    }
    let missing = match used.missing {
        Ok(true) => Ok("a file was read, and a missing one told as such".to_owned()),
        Ok(false) => Err(Error::misconfigured(
            "a file that is not there is answered with what is no file",
            "reach the store itself: something on the way answers in its place",
        )),
        Err(error) => Err(error),
    };
    let found = [
        judged(WRITE, "create and overwrite", used.write.map(|()| "a file was written".to_owned())),
        judged(READ, "read", used.read.and(missing)),
        judged(LIST, "list", used.list.map(|()| "files were listed".to_owned())),
    ];
    let holds = found.iter().all(|check| matches!(check.finding, Finding::Holds { .. }));
    checks.extend(found);
    let may_delete = used.delete.is_ok();
    checks.push(match used.delete {
        Err(error) if is_denied(&error) => DELETE.doubtful(
            "it may not: leases work, and what is left of them stays. The file of this check stays \
             too, and nothing more was tried",
            "give this user the right to delete under the prefix",
        ),
        other => judged(DELETE, "delete", other.map(|()| "a file was deleted".to_owned())),
    });
    holds && may_delete
}

async fn used(store: &ObjStore) -> Used {
    let (path, missing) = (store.probe_path(), store.probe_path());
    let objects = &store.objects;
    let write = objects.put(&path, Bytes::from_static(b"probe\n")).await.map(drop);
    let read = match (&write, objects.read(&path).await) {
        (_, Err(error)) => Err(error),
        (Ok(()), Ok(None)) => Err(Error::misconfigured(
            "a file that was written is not there",
            "use a store that shows what was written; a cache or a mirror does not",
        )),
        _ => Ok(()),
    };
    let missing = objects.read(&missing).await.map(|found| found.is_none());
    let list = objects.list_root().await.map(drop);
    let delete = objects.delete(&path).await.map(drop);
    Used { write, read, missing, list, delete }
}

/// Names the right that is missing.
fn judged(right: Guarantee, verb: &str, used: Result<String>) -> Check {
    match used {
        Err(error) if is_denied(&error) => {
            let Finding::Broken { what, .. } = right.failed(&error).finding else {
                return right.failed(&error);
            };
            right.broken(what, format!("give this user the right to {verb} under the prefix"))
        }
        used => right.judged(&used),
    }
}
