//! The bucket that receives the results: the checks of its fields, and the prefix of the object keys.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    Errors,
    effective::{S3, Storage},
    mounts,
    url::url_problem,
    without_credentials,
};
use crate::{
    benchmark_run::{BenchmarkRunSpec, is_object_name},
    units::Span,
    wording::quoted,
};

/// Maximum value of the upload's time limit, in seconds: one day.
const MAX_SECONDS: u32 = 86_400;
/// Maximum length of the prefix, in bytes. A URI in the status can have 1,024 bytes in total.
const MAX_PREFIX: usize = 512;

/// Where and how the results folder is uploaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Upload {
    /// The URL of the server, without a slash at its end.
    pub endpoint: String,
    /// Whether requests have the bucket in the path instead of the host name.
    pub path_style: bool,
    /// The name of the bucket.
    pub bucket: String,
    /// The region in the signature of the requests.
    pub region: String,
    /// The common prefix of all object keys: the prefix of the spec and the namespace, without a trailing slash.
    pub prefix: String,
    /// The folder with the credentials: one file per key of the Secret.
    pub credentials: PathBuf,
    /// Time limit of the upload with all retries.
    pub timeout: Span,
}

impl Upload {
    /// The URI below which the results folders are stored, such as `s3://bench/runs/team-a`.
    pub fn uri(&self) -> String {
        format!("s3://{}/{}", self.bucket, self.prefix)
    }

    /// The URL to which the launcher connects, without a path. If requests have the bucket in the host name, the host contains the bucket.
    pub fn server(&self) -> String {
        match self.endpoint.split_once("://") {
            Some((scheme, host)) if !self.path_style => format!("{scheme}://{}.{host}", self.bucket),
            _ => self.endpoint.clone(),
        }
    }
}

/// The common prefix of the URIs of a namespace's results folders: `pvc://<claim>`, or `s3://<bucket>/<prefix>`. `None` if no folders are kept.
pub fn results_uri(storage: &Storage, namespace: &str) -> Option<String> {
    match (&storage.pvc, &storage.s3) {
        (Some(claim), _) => Some(format!("pvc://{}", claim.claim_name)),
        (None, Some(s3)) => Some(format!("s3://{}/{}", s3.bucket, prefix(s3, namespace))),
        (None, None) => None,
    }
}

fn prefix(s3: &S3, namespace: &str) -> String {
    s3.prefix.as_ref().map_or_else(|| namespace.to_owned(), |it| format!("{it}/{namespace}"))
}

/// The upload of a run. `None` if the spec has none, or outside of a cluster.
pub(super) fn upload(
    spec: &BenchmarkRunSpec,
    storage: &Storage,
    namespace: &str,
    errors: &mut Errors,
) -> Option<Upload> {
    let set =
        [("pvc", spec.storage.pvc.is_some()), ("s3", spec.storage.s3.is_some()), ("none", spec.storage.none.is_some())];
    let set: Vec<&str> = set.into_iter().filter(|it| it.1).map(|it| it.0).collect();
    if set.len() > 1 {
        errors.add("spec.storage", &format!("has {}; keep one of them", set.join(" and ")));
    }
    let written = spec.storage.s3.as_ref()?;
    let mut add = |field: &str, found: &str, remedy: &str| {
        errors.add(&format!("spec.storage.s3.{field}"), &format!("is {}; {remedy}", quoted(found)));
    };
    if !is_bucket(&written.bucket) {
        add(
            "bucket",
            &written.bucket,
            "write 3 to 63 letters a-z, digits, dots and dashes, a letter or digit at both ends",
        );
    }
    if let Some(prefix) = written.prefix.as_deref().filter(|it| !is_prefix(it)) {
        let remedy = "write at most 512 letters, digits and -._ with single slashes between them, such as team-a/runs, and no part . or ..";
        add("prefix", prefix, remedy);
    }
    if let Some(endpoint) = &written.endpoint {
        let shown = without_credentials(endpoint);
        let host = endpoint.split_once("://").map_or("", |it| it.1).trim_end_matches('/');
        if let Some(problem) = url_problem(endpoint) {
            add("endpoint", &shown, problem);
        } else if host.contains('/') {
            add("endpoint", &shown, "write scheme, host and port alone; the path belongs into prefix");
        }
    }
    let region = written.region.as_deref().unwrap_or("us-east-1");
    if region.is_empty() || !region.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-') {
        add(
            "region",
            region,
            "write the name of a region, such as eu-central-1; servers of your own often take us-east-1",
        );
    }
    if !is_object_name(&written.secret_ref.name) {
        add("secretRef.name", &written.secret_ref.name, "write the name of a Secret in this namespace");
    }
    let seconds = storage.s3.as_ref()?.upload_timeout_seconds;
    if !(1..=MAX_SECONDS).contains(&seconds) {
        add("uploadTimeoutSeconds", &seconds.to_string(), &format!("write 1 to {MAX_SECONDS}"));
    }
    let s3 = storage.s3.as_ref().filter(|_| !namespace.is_empty())?;
    Some(Upload {
        // Amazon's wildcard certificates cover only one label of a host name. So a bucket with a dot in its name must be part of the path.
        path_style: written.endpoint.is_some() || s3.bucket.contains('.'),
        endpoint: s3.endpoint.clone(),
        bucket: s3.bucket.clone(),
        region: s3.region.clone(),
        prefix: prefix(s3, namespace),
        credentials: mounts::S3.into(),
        timeout: Span(std::time::Duration::from_secs(u64::from(seconds))),
    })
}

fn is_bucket(name: &str) -> bool {
    let plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().last()].into_iter().all(|it| it.is_some_and(plain));
    (3..=63).contains(&name.len())
        && ends
        && !name.contains("..")
        && name.bytes().all(|it| plain(it) || b".-".contains(&it))
}

/// Refuses a path segment `.` or `..`, because it would be removed from the URL of a request.
fn is_prefix(prefix: &str) -> bool {
    let is_part = |it: &str| {
        let plain = it.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._".contains(&it));
        plain && !["", ".", ".."].contains(&it)
    };
    prefix.len() <= MAX_PREFIX && prefix.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::resolve::{EffectiveSpec, ResolvedRun, RunIdentity, Settings, resolve};

    fn resolved(namespace: &str, storage: Value) -> Result<ResolvedRun, String> {
        let spec = serde_json::from_value(json!({"target": {"simulator": {}}, "storage": storage})).unwrap();
        let identity = RunIdentity::first_attempt("chat", namespace, "u");
        let errors =
            |all: Vec<super::super::FieldError>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        resolve(identity, &spec, &Settings::default()).map_err(errors)
    }

    #[test]
    fn a_bucket_of_amazon_stands_in_the_host_and_any_other_in_the_path() {
        for (s3, server, uri) in [
            (
                json!({"bucket": "bench", "region": "eu-west-1", "secretRef": {"name": "s"}}),
                "https://bench.s3.eu-west-1.amazonaws.com",
                "s3://bench/team-a",
            ),
            (
                json!({"bucket": "be.nch", "prefix": "runs/x", "secretRef": {"name": "s"}}),
                "https://s3.us-east-1.amazonaws.com",
                "s3://be.nch/runs/x/team-a",
            ),
            (
                json!({"bucket": "bench", "endpoint": "http://minio.storage:9000/", "secretRef": {"name": "s"}}),
                "http://minio.storage:9000",
                "s3://bench/team-a",
            ),
        ] {
            let run = resolved("team-a", json!({"s3": s3})).unwrap();
            let upload = run.upload.unwrap();
            assert!(run.store_results);
            assert_eq!((upload.server().as_str(), upload.uri().as_str()), (server, uri));
            let spec = serde_json::from_value(json!({"target": {"simulator": {}}, "storage": {"s3": s3}})).unwrap();
            let storage = EffectiveSpec::new(&spec, "", &Settings::default()).storage;
            assert_eq!(results_uri(&storage, "team-a").as_deref(), Some(uri));
            assert_eq!(storage.pvc, None);
        }
    }

    #[test]
    fn outside_of_a_cluster_nothing_is_uploaded_and_the_folder_is_kept() {
        let run = resolved("", json!({"s3": {"bucket": "bench", "secretRef": {"name": "s"}}})).unwrap();
        assert_eq!((run.upload, run.store_results), (None, true));
    }

    #[test]
    fn the_upload_adds_its_time_to_that_of_the_launcher() {
        let seconds = |storage: Value| {
            let spec = serde_json::from_value(json!({"target": {"simulator": {}}, "storage": storage})).unwrap();
            EffectiveSpec::new(&spec, "", &Settings::default()).launcher_seconds()
        };
        let s3 = json!({"s3": {"bucket": "bench", "secretRef": {"name": "s"}, "uploadTimeoutSeconds": 90}});
        assert_eq!(seconds(s3), seconds(json!({"none": {}})) + 90);
    }

    #[test]
    fn each_field_that_cannot_be_used_is_named() {
        let s3 = json!({
            "bucket": "Bench", "prefix": "a/../b", "endpoint": "http://minio:9000/path", "region": "", "secretRef": {"name": "A B"},
            "uploadTimeoutSeconds": 0,
        });
        let errors = resolved("team-a", json!({"s3": s3, "none": {}})).unwrap_err();
        assert!(errors.contains("spec.storage: has s3 and none; keep one of them"), "{errors}");
        let errors = resolved("team-a", json!({"s3": s3})).unwrap_err();
        for field in ["bucket", "prefix", "endpoint", "region", "secretRef.name", "uploadTimeoutSeconds"] {
            assert!(errors.contains(&format!("spec.storage.s3.{field}: is ")), "{field}: {errors}");
        }
        let with = |endpoint: &str| {
            resolved("a", json!({"s3": {"bucket": "bench", "endpoint": endpoint, "secretRef": {"name": "s"}}}))
        };
        let error = with("http://me:secret@minio:9000").unwrap_err();
        assert!(error.contains("spec.storage.s3.endpoint") && !error.contains("secret@"), "{error}");
        for prefix in ["/a", "a/", "a//b", "a b", ".", &"a".repeat(513)] {
            let s3 = json!({"bucket": "bench", "prefix": prefix, "secretRef": {"name": "s"}});
            assert!(resolved("a", json!({"s3": s3})).is_err(), "{prefix}");
        }
    }
}
