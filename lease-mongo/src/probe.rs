//! What the deployment really is, found out before anybody relies on it.

use lease_core::{Error, Result};
use mongodb::bson::{Bson, Document, doc};

use crate::Options;
use crate::error::{code, denied, not_a_collection};
use crate::record::{number, says};
use crate::store::Place;

/// What kind of deployment the leases are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Topology {
    /// Members that replicate: the one that leases are made for.
    ReplicaSet,
    /// One server alone: no failover, and no push.
    Standalone,
    /// A router of a sharded cluster, on whose clock leases are judged.
    Mongos,
}

/// The first protocol version with all that the pipelines use: MongoDB 5.0.
const OLDEST_WIRE: i64 = 13;

/// Asks the server what it is, and refuses what cannot keep leases.
pub(crate) async fn topology(place: &Place, options: &Options) -> Result<Topology> {
    kind_of(&hello(place).await?, options)
}

/// What the server says of itself.
pub(crate) async fn hello(place: &Place) -> Result<Document> {
    place.run(doc! { "hello": 1 }).await
}

/// What a server is by its own words.
pub(crate) fn kind_of(hello: &Document, options: &Options) -> Result<Topology> {
    if number(hello, "maxWireVersion").unwrap_or_default() < OLDEST_WIRE {
        return Err(Error::misconfigured(
            "the server is older than MongoDB 5.0",
            "update it: leases are judged by the server's clock inside updates, which older ones \
             cannot do safely",
        ));
    }
    if hello.get_str("msg").is_ok_and(|text| text == "isdbgrid") || hello.contains_key("serviceId")
    {
        if options.allow_mongos {
            return Ok(Topology::Mongos);
        }
        return Err(Error::misconfigured(
            "this is a router of a sharded cluster: leases would be judged by the clock of \
             whichever router is asked",
            "name the members of one replica set in the URL, or keep the routers' clocks together, \
             give their difference as clockSkewMS, and allow it by allowMongos=true",
        ));
    }
    if hello.contains_key("setName") {
        if says(hello, "isWritablePrimary") || options.read_only {
            return Ok(Topology::ReplicaSet);
        }
        return Err(Error::misconfigured(
            "the URL leads to a member that is not the primary, and to no other",
            "name all members, or the replica set by replicaSet=…, and leave out directConnection",
        ));
    }
    Ok(Topology::Standalone)
}

/// Asks the server for its clock as every step will: another product may not know it.
pub(crate) async fn clock(place: &Place) -> Result<()> {
    let pipeline = [doc! { "$match": { "_id": "" } }, doc! { "$project": { "now": "$$NOW" } }];
    let asked = doc! { "aggregate": &place.collection, "pipeline": pipeline.to_vec(), "cursor": {},
    "maxTimeMS": place.max_time() };
    place.run(asked).await.map(drop)
}

/// Looks at the collection; makes it if it is not there and may be made.
pub(crate) async fn collection(place: &Place, read_only: bool) -> Result<()> {
    match described(place).await? {
        Some(found) => suits(&found)?,
        None if read_only => return Ok(()),
        None => create(place).await?,
    }
    indexes(place).await
}

/// Whether all indexes of the collection let every lease document in, and leave it there.
pub(crate) async fn indexes(place: &Place) -> Result<()> {
    let listed = place.run(doc! { "listIndexes": &place.collection }).await?;
    let batch = listed.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
    let indexes = batch.ok().into_iter().flatten();
    indexes.filter_map(Bson::as_document).try_for_each(index_suits)
}

/// Whether an index lets every lease document in, and leaves it there.
fn index_suits(index: &Document) -> Result<()> {
    if index.contains_key("expireAfterSeconds") {
        return Err(Error::misconfigured(
            "the lease collection has a TTL index, which would delete leases and their epochs",
            "drop that index: leases end by themselves, and what is left of a name is small",
        ));
    }
    if says(index, "unique") {
        return Err(Error::misconfigured(
            "the lease collection has a unique index, which would refuse lease documents",
            "drop that index, or keep leases in a collection of their own",
        ));
    }
    Ok(())
}

/// What `listCollections` says of it, if it is there.
pub(crate) async fn described(place: &Place) -> Result<Option<Document>> {
    let filter = doc! { "name": &place.collection };
    let listed = place
        .run(doc! { "listCollections": 1, "filter": filter, "maxTimeMS": place.max_time() })
        .await?;
    let batch = listed.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
    Ok(batch.ok().and_then(|batch| batch.first()?.as_document().cloned()))
}

/// Whether documents stay as they are written there, and names apart.
pub(crate) fn suits(found: &Document) -> Result<()> {
    if found.get_str("type").is_ok_and(|kind| kind != "collection") {
        return Err(not_a_collection("listCollections says so"));
    }
    let Ok(options) = found.get_document("options") else { return Ok(()) };
    let refuse = |problem: &'static str, fix: &'static str| Err(Error::misconfigured(problem, fix));
    if says(options, "capped") {
        return refuse(
            "the lease collection is capped: the server would delete leases to make room",
            "keep leases in an ordinary collection",
        );
    }
    if options.contains_key("collation") {
        return refuse(
            "the lease collection has a collation, by which two names can be one",
            "keep leases in a collection without one",
        );
    }
    if options.get_document("validator").is_ok_and(|rules| !rules.is_empty()) {
        return refuse(
            "the lease collection has a validator, which may refuse lease documents",
            "remove the validator, or keep leases in a collection of their own",
        );
    }
    if options.contains_key("expireAfterSeconds") {
        return refuse(
            "the server deletes documents of the lease collection after a time",
            "keep leases in an ordinary collection",
        );
    }
    Ok(())
}

/// Makes the collection; others may be faster.
async fn create(place: &Place) -> Result<()> {
    /// NamespaceExists.
    const EXISTS: i32 = 48;
    let made =
        place.run(doc! { "create": &place.collection, "writeConcern": crate::store::concern() });
    match made.await {
        Ok(answer) => crate::store::check(&answer),
        Err(error) if code(&error) == Some(EXISTS) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether this user may do all that is needed, as far as the server tells.
pub(crate) async fn rights(place: &Place, read_only: bool) -> Result<()> {
    let wanted: &[&str] = if read_only { &["find"] } else { &["find", "insert", "update"] };
    match missing_rights(place, wanted).await?.first() {
        None => Ok(()),
        Some(action) => Err(denied(format!("the user has no right to {action}"))),
    }
}

/// Which of these this user may not do, as far as the server tells.
pub(crate) async fn missing_rights(
    place: &Place,
    wanted: &[&'static str],
) -> Result<Vec<&'static str>> {
    let asked = doc! { "connectionStatus": 1, "showPrivileges": true };
    let answer = place.run(asked).await?;
    let Ok(auth) = answer.get_document("authInfo") else { return Ok(Vec::new()) };
    let array = |field: &str| auth.get_array(field).cloned().unwrap_or_default();
    // Without a login the server lets everybody in, or has refused us before.
    if array("authenticatedUsers").is_empty() {
        return Ok(Vec::new());
    }
    let privileges = array("authenticatedUserPrivileges");
    let may = |action: &str| {
        privileges.iter().filter_map(Bson::as_document).any(|one| allows(one, action, place))
    };
    Ok(wanted.iter().copied().filter(|action| !may(action)).collect())
}

/// Whether a privilege allows an action on the lease collection.
fn allows(privilege: &Document, action: &str, place: &Place) -> bool {
    let Ok(resource) = privilege.get_document("resource") else { return false };
    let is = |field: &str, wanted: &str| {
        resource.get_str(field).is_ok_and(|text| text.is_empty() || text == wanted)
    };
    let applies = says(resource, "anyResource")
        || (is("db", place.database.name()) && is("collection", &place.collection));
    let actions = privilege.get_array("actions");
    applies && actions.is_ok_and(|actions| actions.iter().any(|one| one.as_str() == Some(action)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(hello: &Document, parameters: &str) -> Result<Topology> {
        kind_of(hello, &Options::parse(&format!("mongodb://host/jobs?{parameters}"))?)
    }

    fn refused(hello: &Document, words: &str) {
        match kind(hello, "") {
            Err(Error::Misconfigured { problem, fix, .. }) => {
                assert!(format!("{problem}; {fix}").contains(words), "{problem}; {fix}");
            }
            other => panic!("it cannot keep leases: {other:?}"),
        }
    }

    #[test]
    fn an_old_server_is_refused() {
        // MongoDB 4.4, as the primary of a set.
        let old = doc! { "isWritablePrimary": true, "setName": "rs0", "maxWireVersion": 9 };
        refused(&old, "5.0");
        refused(&doc! { "isWritablePrimary": true }, "5.0");
        let first = doc! { "isWritablePrimary": true, "setName": "rs0", "maxWireVersion": 13 };
        assert_eq!(kind(&first, "").unwrap(), Topology::ReplicaSet);
    }

    /// A router tells what it is; one behind a load balancer tells a service instead.
    #[test]
    fn a_router_is_refused_unless_it_is_allowed() {
        for router in [
            doc! { "isWritablePrimary": true, "msg": "isdbgrid", "maxWireVersion": 17 },
            doc! { "isWritablePrimary": true, "serviceId": "a", "maxWireVersion": 17 },
        ] {
            refused(&router, "allowMongos=true");
            assert_eq!(kind(&router, "allowMongos=true").unwrap(), Topology::Mongos);
            assert!(kind(&router, "allowMongos=false").is_err());
        }
    }

    #[test]
    fn a_secondary_is_enough_to_look() {
        let secondary = doc! { "isWritablePrimary": false, "secondary": true, "setName": "rs0",
        "maxWireVersion": 17 };
        refused(&secondary, "name all members");
        assert_eq!(kind(&secondary, "readOnly=true").unwrap(), Topology::ReplicaSet);
    }
}
