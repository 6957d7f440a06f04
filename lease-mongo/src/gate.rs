//! A gate for a whole resource, kept in a document.

use async_trait::async_trait;
use lease_core::{Admission, DurableGate, Result, Token};
use mongodb::Collection;
use mongodb::bson::{Document, doc};
use mongodb::options::ReturnDocument;

use crate::error::{nonsense, translate};
use crate::fenced::{majority, number_of};
use crate::record::number;

/// A document that remembers the highest token a resource has seen:
/// [`Lease::announce`](lease_core::Lease::announce) is given this.
///
/// It keeps late holders out of whatever asks it before each change. What is changed by an update
/// of its own is better kept by [`Fenced`](crate::Fenced), where asking and changing are one step,
/// or by [`Mongo::transaction`](crate::Mongo::transaction). The user needs the right to write to
/// its collection.
#[derive(Clone, Debug)]
pub struct DocumentGate {
    collection: Collection<Document>,
    id: String,
}

impl DocumentGate {
    /// The gate that is kept under this `_id`; the document is made when it is first asked.
    #[must_use]
    pub fn new(collection: Collection<Document>, id: impl Into<String>) -> Self {
        Self { collection, id: id.into() }
    }
}

#[async_trait]
impl DurableGate for DocumentGate {
    async fn admit(&self, token: Token) -> Result<Admission> {
        let highest = doc! { "$set": { "highest": { "$max": ["$highest", number_of(token)] } } };
        let asked = self
            .collection
            .find_one_and_update(doc! { "_id": &self.id }, vec![highest])
            .upsert(true)
            .return_document(ReturnDocument::After)
            .write_concern(majority());
        let shown = asked.await.map_err(translate)?;
        let highest = shown.as_ref().and_then(|shown| number(shown, "highest"));
        match highest.and_then(|highest| u64::try_from(highest).ok()).map(Token::from_number) {
            Some(highest) if highest == token => Ok(Admission::Admitted),
            Some(highest) => Ok(Admission::Refused { highest }),
            None => Err(nonsense("the gate's document has no token")),
        }
    }
}
