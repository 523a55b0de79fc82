//! The id of a load. It distinguishes the requests of different loads in a server's log.

use std::fmt::Display;

use http::HeaderValue;

/// The first part of the `x-request-id` in every request of a load.
#[derive(Clone, Debug)]
pub struct RunId(String);

impl RunId {
    /// Creates a random id. Two loads have the same id only by chance.
    pub fn random() -> RunId {
        let mut text = uuid::Uuid::new_v4().simple().to_string();
        text.truncate(8);
        RunId(text)
    }

    /// Returns the `x-request-id` that ends in `request`. `None` only if `request` contains characters that a header cannot hold.
    pub fn header(&self, request: impl Display) -> Option<HeaderValue> {
        HeaderValue::try_from(format!("bw-{}-{request}", self.0)).ok()
    }
}
