//! The id that distinguishes the requests of two loads in a server's log.

use std::fmt::Display;

use http::HeaderValue;

/// Begins the `x-request-id` of every request of a load.
#[derive(Clone, Debug)]
pub struct RunId(String);

impl RunId {
    /// An id that differs from the ids of other loads, except by chance.
    pub fn random() -> RunId {
        let mut text = uuid::Uuid::new_v4().simple().to_string();
        text.truncate(8);
        RunId(text)
    }

    /// The `x-request-id` that ends in `request`. With letters, digits and dashes it is always a valid header value.
    pub fn header(&self, request: impl Display) -> Option<HeaderValue> {
        HeaderValue::try_from(format!("bw-{}-{request}", self.0)).ok()
    }
}
