//! The API server's record of the operators' requests: each answered request, with the user from its certificate.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Seek as _, SeekFrom},
};

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::Value;

use super::ControlPlane;

/// An answered request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The common name in the certificate: `operator-a`, `operator-b`.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
    pub verb: String,
    /// The plural name, with the subresource: `benchmarkruns/status`.
    pub resource: String,
    /// Empty for objects without a namespace.
    pub namespace: String,
    /// The HTTP status of the answer.
    pub code: u64,
    /// When the server received the request.
    pub received: Timestamp,
    /// When the server finished its answer.
    pub answered: Timestamp,
    /// The holder in a written Lease.
    pub holder: Option<String>,
    /// The request is for a page of a list, as at the start of a watch.
    pub is_page: bool,
}

impl Request {
    /// Whether the request changes an object.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// Whether the request concerns the Lease of the election.
    pub fn is_lease(&self) -> bool {
        self.resource == "leases"
    }

    /// Whether the request belongs to a watch rather than to a run.
    pub fn is_of_watch(&self) -> bool {
        self.verb == "watch" || self.is_page
    }

    /// Whether the server carried out the request.
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

impl ControlPlane {
    /// The current length of the record, in bytes. Later requests are appended after it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn audit_end(&self) -> anyhow::Result<u64> {
        Ok(std::fs::metadata(self.folder.join("audit.log")).context("there is no audit.log")?.len())
    }

    /// The requests that were answered after the record had this length.
    ///
    /// # Errors
    /// When the file cannot be read, or one of its lines is not an event.
    pub fn audit_since(&self, start: u64) -> anyhow::Result<Vec<Request>> {
        let mut file = File::open(self.folder.join("audit.log"))?;
        file.seek(SeekFrom::Start(start))?;
        let mut all = Vec::new();
        for line in BufReader::new(file).split(b'\n') {
            let line = line?;
            // The last line may be half written.
            let Ok(event) = serde_json::from_slice::<Value>(&line) else { continue };
            if event["stage"] == "ResponseComplete" {
                all.push(request(&event).with_context(|| format!("no event: {event}"))?);
            }
        }
        Ok(all)
    }
}

fn request(event: &Value) -> anyhow::Result<Request> {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let subresource = text("/objectRef/subresource");
    let resource = text("/objectRef/resource");
    Ok(Request {
        user: text("/user/username"),
        verb: text("/verb"),
        resource: if subresource.is_empty() { resource } else { format!("{resource}/{subresource}") },
        namespace: text("/objectRef/namespace"),
        code: event.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or(0),
        received: text("/requestReceivedTimestamp").parse()?,
        answered: text("/stageTimestamp").parse()?,
        holder: event.pointer("/requestObject/spec/holderIdentity").and_then(Value::as_str).map(str::to_owned),
        is_page: text("/requestURI").contains("limit=") || text("/requestURI").contains("sendInitialEvents"),
    })
}
