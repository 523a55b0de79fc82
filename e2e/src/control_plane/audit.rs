//! The API server's audit log of the operators' requests: every answered request, with the user in its client certificate.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Seek as _, SeekFrom},
};

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::Value;

use super::ControlPlane;

/// A request that the API server has answered.
#[derive(Clone, Debug)]
pub struct Request {
    /// The common name in the client certificate: `operator-a` or `operator-b`.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
    pub verb: String,
    /// The plural name of the resource, with the subresource, such as `benchmarkruns/status`.
    pub resource: String,
    /// The namespace. Empty for objects without one.
    pub namespace: String,
    /// The HTTP status code of the response.
    pub code: u64,
    /// When the API server received the request.
    pub received: Timestamp,
    /// When the API server finished its response.
    pub answered: Timestamp,
    /// The holder in the Lease, if the request writes one.
    pub holder: Option<String>,
    /// Whether the request is for a page of a list, as at the start of a watch.
    pub is_page: bool,
}

impl Request {
    /// Whether the request changes an object.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// Whether the request is about the Lease of the leader election.
    pub fn is_lease(&self) -> bool {
        self.resource == "leases"
    }

    /// Whether the request belongs to a watch, and not to the turn of a run.
    pub fn is_of_watch(&self) -> bool {
        self.verb == "watch" || self.is_page
    }

    /// Whether the request was successful.
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

impl ControlPlane {
    /// The current length of the audit log, in bytes. Later requests are appended to it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn audit_end(&self) -> anyhow::Result<u64> {
        Ok(std::fs::metadata(self.folder.join("audit.log")).context("there is no audit.log")?.len())
    }

    /// The requests in the audit log after the position `start`.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not an audit event.
    pub fn audit_since(&self, start: u64) -> anyhow::Result<Vec<Request>> {
        let mut file = File::open(self.folder.join("audit.log"))?;
        file.seek(SeekFrom::Start(start))?;
        let mut all = Vec::new();
        for line in BufReader::new(file).split(b'\n') {
            let line = line?;
            // The API server may still be writing the last line.
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
