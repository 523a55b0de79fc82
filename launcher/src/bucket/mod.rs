//! [I/O] An S3 bucket, or a server with the same API. Requests are signed, checked and retried within a time limit.
//!
//! Memory: at most one part of a file, 8 MiB, and at most 64 KiB of a response.

mod fault;
#[cfg(test)]
mod tests;
mod transfer;

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use clock::Clock;
use crds::resolve::Upload;
use engine::client::{AddressError, Resolver};
use md5::{Digest as _, Md5};
use reqwest::{Client, Method, Response, Url, header, redirect::Policy};
use rusty_s3::{Credentials, Map, S3Action, UrlStyle};
use tracing::{debug, warn};

use crate::web_client;
pub(crate) use fault::Fault;
use fault::code_of;

/// Timeout of one request, including its body. A part of 8 MiB arrives in time on connections with at least 70 KB/s.
const REQUEST: Duration = Duration::from_secs(120);
/// How long a signature is valid. It is longer than the maximum time of a request.
const SIGNED_FOR: Duration = Duration::from_secs(900);
/// The pause before the first retry. Each further pause is twice as long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Maximum bytes of a response that are read. Error responses are shorter.
const MAX_ANSWER: usize = 64 << 10;
/// Maximum length of a credential, in bytes. Session tokens have at most a few thousand bytes.
const MAX_CREDENTIAL: u64 = 16 << 10;
/// The names of the credential files. They are the keys of the Secret.
const ACCESS_KEY: &str = "accessKeyId";
const SECRET_KEY: &str = "secretAccessKey";
const TOKEN: &str = "sessionToken";

/// The reason why a bucket cannot be used, or an object cannot be transferred. No message contains text from a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BucketError {
    #[error("storage.s3.secretRef: {path} cannot be read: {source}; give the Secret the key {key}", path = path.display())]
    Credentials { key: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "storage.s3.secretRef: the Secret's key {key} is empty, longer than 16 KiB, or has characters other than visible ASCII; correct it"
    )]
    BadCredential { key: &'static str },
    #[error("storage.s3: {server} cannot be called: {cause}")]
    Client { server: String, cause: String },
    /// The endpoint resolves to a blocked address.
    #[error(
        "storage.s3.endpoint: {server} {cause}; name a server at another address; the operator's settings say which addresses a run may call"
    )]
    Refused { server: String, cause: AddressError },
    #[error("storage.s3: {uri} cannot be {done}: {fault}")]
    Failed { done: &'static str, uri: String, fault: Fault },
    #[error("cannot read {path} for its upload: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "storage.s3: {uri} has {found} bytes in the bucket, but the uploaded file has {wanted}; check whether another program writes to this prefix"
    )]
    Size { uri: String, found: u64, wanted: u64 },
    #[error("{path} is too large for an upload: more than {most} bytes; set storage.perRequestRecords: None", path = path.display())]
    TooLarge { path: PathBuf, most: u64 },
    #[error("the launcher cannot start the upload: {0}")]
    Runtime(io::Error),
}

impl BucketError {
    /// Whether the address of the server is blocked. The user must then name another server.
    pub(crate) fn is_refused_address(&self) -> bool {
        matches!(self, BucketError::Refused { .. } | BucketError::Failed { fault: Fault::RefusedAddress, .. })
    }

    /// Whether the object does not exist.
    fn is_missing(&self) -> bool {
        matches!(self, BucketError::Failed { fault: Fault::Status { status: 404, code }, .. } if [None, Some("NoSuchKey")].contains(code))
    }
}

/// A bucket that is ready for requests.
pub(crate) struct Bucket {
    place: Upload,
    bucket: rusty_s3::Bucket,
    credentials: Credentials,
    client: Client,
}

impl Bucket {
    /// Reads the credentials and prepares a client. Sends no request.
    ///
    /// # Errors
    /// A credential is missing, or the URL of the server is not allowed.
    pub(crate) fn open(place: &Upload, resolver: &Resolver) -> Result<Bucket, BucketError> {
        let credential = |key| credential(&place.credentials.join(key), key);
        let access = credential(ACCESS_KEY)?;
        let secret = credential(SECRET_KEY)?;
        let token = match credential(TOKEN) {
            Ok(token) => Some(token),
            Err(BucketError::Credentials { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let credentials = match token {
            Some(token) => Credentials::new_with_token(access, secret, token),
            None => Credentials::new(access, secret),
        };
        let cannot = |cause: String| BucketError::Client { server: place.server(), cause };
        let endpoint = Url::parse(&place.endpoint).map_err(|error| cannot(error.to_string()))?;
        // An IP address is checked here. A name is checked when it is resolved.
        let host = endpoint.host_str().map(|it| it.trim_start_matches('[').trim_end_matches(']'));
        if let Some(Ok(ip)) = host.map(str::parse) {
            let refused = |cause| BucketError::Refused { server: place.server(), cause };
            resolver.check(ip).map_err(refused)?;
        }
        let style = if place.path_style { UrlStyle::Path } else { UrlStyle::VirtualHost };
        let bucket = rusty_s3::Bucket::new(endpoint, style, place.bucket.clone(), place.region.clone())
            .map_err(|error| cannot(error.to_string()))?;
        // Redirects are not followed, because they would send the request to a server that the run does not name.
        let client = web_client::builder(resolver)
            .and_then(|it| it.redirect(Policy::none()).build().map_err(|error| error.to_string()))
            .map_err(cannot)?;
        Ok(Bucket { place: place.clone(), bucket, credentials, client })
    }

    /// The URI of a folder, such as `s3://bench/runs/team-a/chat-2db482-a1`.
    pub(crate) fn uri(&self, folder: &str) -> String {
        format!("{}/{folder}", self.place.uri())
    }

    fn key(&self, folder: &str, name: &str) -> String {
        format!("{}/{folder}/{name}", self.place.prefix)
    }

    fn failed(&self, done: &'static str, key: &str, fault: Fault) -> BucketError {
        BucketError::Failed { done, uri: format!("s3://{}/{key}", self.place.bucket), fault }
    }

    /// Sends a request until it succeeds, fails permanently, or the time limit has passed.
    async fn send(&self, time: &Time, call: &Call<'_>) -> Result<Answer, BucketError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let fault = match self.send_once(time, call).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            let failed = |fault| Err(self.failed(call.done(), call.key(), fault));
            if !fault.may_pass() || time.left() <= pause {
                return failed(fault);
            }
            warn!(key = call.key(), cause = %fault, "a request to the bucket failed, and is tried again");
            time.wait(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// Sends a request once, and reads the response.
    async fn send_once(&self, time: &Time, call: &Call<'_>) -> Result<Answer, Fault> {
        let limit = time.left().min(REQUEST);
        let sent = clock::limit(limit, async {
            let response = self.begin(call).await?;
            let status = response.status();
            let etag = response.headers().get(header::ETAG).and_then(|it| Some(it.to_str().ok()?.to_owned()));
            let length = response.headers().get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
            let body = text(response).await?;
            // For a multipart completion, the server sends the status before it knows the outcome. So a response with status 200 can contain an
            // error.
            let failed_late = call.is_completion() && !body.contains("<ETag>");
            if !status.is_success() || failed_late {
                return Err(Fault::Status { status: status.as_u16(), code: code_of(&body) });
            }
            debug!(key = call.key(), "the bucket answered a request");
            Ok(Answer { etag, length, body })
        });
        sent.await.unwrap_or(Err(Fault::Timeout))
    }

    async fn begin(&self, call: &Call<'_>) -> Result<Response, Fault> {
        let (method, url, headers, body) = self.signed(call);
        let mut request = self.client.request(method, url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.header(header::CONTENT_LENGTH, body.len()).body(body);
        }
        request.send().await.map_err(|error| Fault::of_client(&error))
    }

    /// Returns a request with its signature, which is valid for some minutes. The URL acts as a credential, so it is never logged.
    fn signed(&self, call: &Call<'_>) -> (Method, Url, Vec<(&'static str, String)>, Option<Bytes>) {
        let (bucket, credentials) = (&self.bucket, Some(&self.credentials));
        match call {
            Call::Put { key, body } => {
                let sum = md5_of(body);
                let mut action = bucket.put_object(credentials, key);
                add_sum(action.headers_mut(), &sum);
                (Method::PUT, sign(&action), vec![(CONTENT_MD5, sum)], Some(body.clone()))
            }
            Call::Part { key, upload, number, body } => {
                let sum = md5_of(body);
                let mut action = bucket.upload_part(credentials, key, *number, upload);
                add_sum(action.headers_mut(), &sum);
                (Method::PUT, sign(&action), vec![(CONTENT_MD5, sum)], Some(body.clone()))
            }
            Call::Head { key } => (Method::HEAD, sign(&bucket.head_object(credentials, key)), Vec::new(), None),
            Call::Get { key } => (Method::GET, sign(&bucket.get_object(credentials, key)), Vec::new(), None),
            Call::Delete { key } => (Method::DELETE, sign(&bucket.delete_object(credentials, key)), Vec::new(), None),
            Call::Begin { key } => {
                let url = sign(&bucket.create_multipart_upload(credentials, key));
                (Method::POST, url, Vec::new(), Some(Bytes::new()))
            }
            Call::Complete { key, upload, etags } => {
                let etags = || etags.iter().map(String::as_str);
                let action = bucket.complete_multipart_upload(credentials, key, upload, etags());
                let url = sign(&action);
                (Method::POST, url, Vec::new(), Some(action.body().into()))
            }
            Call::Abort { key, upload } => {
                let url = sign(&bucket.abort_multipart_upload(credentials, key, upload));
                (Method::DELETE, url, Vec::new(), None)
            }
        }
    }
}

/// The header field with the checksum that every S3 server verifies before it stores the object.
const CONTENT_MD5: &str = "content-md5";

fn add_sum<'a>(headers: &mut Map<'a>, sum: &str) {
    headers.insert(CONTENT_MD5, sum.to_owned());
}

fn sign<'a>(action: &impl S3Action<'a>) -> Url {
    action.sign_with_time(SIGNED_FOR, &clock::now())
}

fn md5_of(body: &[u8]) -> String {
    BASE64_STANDARD.encode(Md5::digest(body))
}

/// Reads the beginning of a response body.
async fn text(mut response: Response) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| Fault::of_client(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_ANSWER {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A request to the bucket.
enum Call<'a> {
    Put { key: &'a str, body: Bytes },
    Head { key: &'a str },
    Get { key: &'a str },
    Delete { key: &'a str },
    Begin { key: &'a str },
    Part { key: &'a str, upload: &'a str, number: u16, body: Bytes },
    Complete { key: &'a str, upload: &'a str, etags: &'a [String] },
    Abort { key: &'a str, upload: &'a str },
}

impl Call<'_> {
    fn key(&self) -> &str {
        match self {
            Call::Put { key, .. }
            | Call::Head { key }
            | Call::Get { key }
            | Call::Delete { key }
            | Call::Begin { key }
            | Call::Part { key, .. }
            | Call::Complete { key, .. }
            | Call::Abort { key, .. } => key,
        }
    }

    /// What the request does, as a word for error messages such as `read`.
    fn done(&self) -> &'static str {
        match self {
            Call::Head { .. } | Call::Get { .. } => "read",
            Call::Delete { .. } | Call::Abort { .. } => "deleted",
            Call::Put { .. } | Call::Begin { .. } | Call::Part { .. } | Call::Complete { .. } => "written",
        }
    }

    fn is_completion(&self) -> bool {
        matches!(self, Call::Complete { .. })
    }
}

/// The response to a successful request.
struct Answer {
    etag: Option<String>,
    length: Option<u64>,
    body: String,
}

/// The time limit that several requests share, and how much of it is left.
struct Time {
    clock: Clock,
    limit: Duration,
}

impl Time {
    fn start(limit: Duration) -> Time {
        Time { clock: Clock::from_runtime(), limit }
    }

    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.clock.now())
    }

    async fn wait(&self, pause: Duration) {
        self.clock.sleeper().until(self.clock.now() + pause).await;
    }
}

/// Reads a credential of visible ASCII characters, without the line break at its end.
fn credential(path: &Path, key: &'static str) -> Result<String, BucketError> {
    let unread = |source| BucketError::Credentials { key, path: path.to_owned(), source };
    let mut text = String::new();
    let file = File::open(path).map_err(unread)?;
    match file.take(MAX_CREDENTIAL + 1).read_to_string(&mut text) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(BucketError::BadCredential { key }),
        Err(error) => return Err(unread(error)),
    }
    let text = text.trim();
    let plain = !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic());
    if plain && text.len() as u64 <= MAX_CREDENTIAL {
        Ok(text.to_owned())
    } else {
        Err(BucketError::BadCredential { key })
    }
}
