//! The reason why a request to a bucket failed. The messages use only our own words, because a status must not contain text from a server.

use crate::web_client::{self, Way};

/// The error codes that a message can contain. No other text from a server appears in it.
const CODES: [&str; 22] = [
    "AccessDenied",
    "AuthorizationHeaderMalformed",
    "BadDigest",
    "EntityTooLarge",
    "ExpiredToken",
    "InternalError",
    "InvalidAccessKeyId",
    "InvalidDigest",
    "InvalidToken",
    "MethodNotAllowed",
    "NoSuchBucket",
    "NoSuchKey",
    "NoSuchUpload",
    "NotImplemented",
    "PermanentRedirect",
    "QuotaExceeded",
    "RequestTimeTooSkewed",
    "RequestTimeout",
    "ServiceUnavailable",
    "SignatureDoesNotMatch",
    "SlowDown",
    // versitygw returns this code instead of InvalidAccessKeyId.
    "XAdminUserNotFound",
];

/// The reason why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error(
        "the endpoint's host resolves to an address that a launcher may not call; name a server at another address"
    )]
    RefusedAddress,
    #[error("the endpoint's host name cannot be resolved; correct storage.s3.endpoint")]
    NoHost,
    #[error("the connection or its TLS handshake failed; check the server at storage.s3.endpoint, and its certificate")]
    NoConnection,
    #[error(
        "the server did not answer in time; check that it can be reached, or raise storage.s3.uploadTimeoutSeconds"
    )]
    Timeout,
    #[error("the server sent an incomplete answer")]
    BrokenAnswer,
    #[error("the server answered {status}{}; {}", named(*code), remedy(*status, *code))]
    Status {
        status: u16,
        /// One of [`CODES`], if the response contained it.
        code: Option<&'static str>,
    },
}

fn named(code: Option<&str>) -> String {
    code.map_or_else(String::new, |it| format!(" ({it})"))
}

fn remedy(status: u16, code: Option<&str>) -> &'static str {
    match (status, code.unwrap_or_default()) {
        (_, "NoSuchBucket") => "create the bucket, or correct storage.s3.bucket",
        (_, "InvalidAccessKeyId" | "XAdminUserNotFound") => {
            "the server does not know the Secret's accessKeyId; correct it"
        }
        (_, "SignatureDoesNotMatch") => "the Secret's secretAccessKey does not belong to its accessKeyId; correct it",
        (_, "ExpiredToken" | "InvalidToken") => {
            "the Secret's sessionToken has expired, or belongs to another accessKeyId; renew it"
        }
        (_, "PermanentRedirect" | "AuthorizationHeaderMalformed") | (301 | 307, _) => {
            "the bucket is in another region; correct storage.s3.region, or endpoint"
        }
        (_, "RequestTimeTooSkewed") => "the clocks of the server and of this node differ; synchronise them",
        (_, "QuotaExceeded" | "EntityTooLarge") | (507, _) => "free space in the bucket, or raise its quota",
        (401 | 403, _) => {
            "allow the Secret's key to put, get and delete objects below storage.s3.prefix (s3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload)"
        }
        (404, _) => {
            "check that the bucket exists, that the server knows the Secret's accessKeyId, and that storage.s3.endpoint is an S3 server"
        }
        (429 | 500.., _) => "the server is overloaded or faulty; see its log",
        _ => "check that storage.s3.endpoint is an S3 server",
    }
}

impl Fault {
    pub(super) fn of_client(error: &reqwest::Error) -> Fault {
        match web_client::way(error) {
            Way::Refused => Fault::RefusedAddress,
            Way::NotFound => Fault::NoHost,
            Way::Called if error.is_timeout() => Fault::Timeout,
            Way::Called if error.is_connect() => Fault::NoConnection,
            Way::Called => Fault::BrokenAnswer,
        }
    }

    /// Whether a retry may succeed.
    pub(super) fn may_pass(self) -> bool {
        match self {
            Fault::RefusedAddress => false,
            Fault::NoHost | Fault::NoConnection | Fault::Timeout | Fault::BrokenAnswer => true,
            // A body that was changed in transit has a different checksum. A retry may succeed.
            Fault::Status { code: Some("BadDigest" | "RequestTimeout" | "SlowDown" | "InternalError"), .. } => true,
            Fault::Status { status, .. } => matches!(status, 408 | 429 | 500 | 502..=504),
        }
    }
}

/// Returns the error code in an XML response, if it is one of [`CODES`].
pub(super) fn code_of(body: &str) -> Option<&'static str> {
    let found = element(body, "Code")?;
    CODES.into_iter().find(|it| *it == found)
}

/// Returns the text of the first element with this name. Only suitable for short texts without XML entities.
pub(super) fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0.trim())
}
