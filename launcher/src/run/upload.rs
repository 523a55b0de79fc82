//! [I/O] Uploads the results folder. The bucket is checked before the load, and written to after it.

use std::{fs, path::Path};

use crds::resolve::{ResolvedRun, RunIdentity, Upload};
use report::{REPORT_FILE_NAME, Stored, earlier_attempt::MESSAGE_FILE_NAME};
use tracing::{info, warn};

use super::{Failure, RunOptions, egress, signals};
use crate::bucket::{Bucket, BucketError};
use engine::{client::Resolver, stop::Stop};

/// Maximum size of an earlier attempt's file that is downloaded, in bytes. The report of the longest run is smaller.
const MAX_FILE: u64 = 256 << 20;
/// Maximum size of a termination message in bytes, with a reserve.
const MAX_MESSAGE: u64 = 64 << 10;

/// The destination of a results folder that is complete.
pub(super) enum Destination {
    /// The folder stays where it was written.
    Here,
    /// A bucket that was checked.
    Bucket(Box<Bucket>),
    /// The bucket cannot be used, and results are optional.
    Nowhere,
}

impl Destination {
    /// Checks the bucket, if results go to one.
    pub(super) fn prepare(
        run: &ResolvedRun,
        options: &RunOptions,
        resolver: &Resolver,
        stop: &Stop,
    ) -> Result<Destination, Failure> {
        let Some(upload) = wanted(run, options) else { return Ok(Destination::Here) };
        let (upload, resolver, folder) = (upload.clone(), resolver.clone(), run.run.attempt_name());
        let opened = signals::until_stopped(stop, move || {
            let bucket = Bucket::open(&upload, &resolver)?;
            bucket.check(&folder)?;
            info!(folder = bucket.uri(&folder), "the bucket of the results can be written");
            Ok::<_, BucketError>(bucket)
        })?;
        match opened {
            Ok(bucket) => Ok(Destination::Bucket(Box::new(bucket))),
            Err(error) if error.is_refused_address() => Err(Failure::configuration(error.to_string())),
            Err(error) if run.storage_required => Err(Failure::storage(error.to_string())),
            Err(error) => {
                warn!(%error, "the results are not kept; the figures still count, because storage.required is false");
                Ok(Destination::Nowhere)
            }
        }
    }

    /// Whether a folder is written at all.
    pub(super) fn keeps_results(&self) -> bool {
        !matches!(self, Destination::Nowhere)
    }

    /// The bucket, if results are uploaded.
    pub(super) fn bucket(&self) -> Option<&Bucket> {
        match self {
            Destination::Bucket(bucket) => Some(bucket),
            Destination::Here | Destination::Nowhere => None,
        }
    }
}

/// Uploads a complete folder, and returns its location. The file `mark` is uploaded after all other files.
pub(super) fn keep(bucket: &Bucket, stored: &Stored, mark: &str) -> Result<String, BucketError> {
    let uri = bucket.uri(&stored.name);
    let done = bucket.upload(&stored.path, &stored.name, mark)?;
    info!(folder = uri, files = done.files, bytes = done.bytes, "the results are in the bucket");
    Ok(uri)
}

/// The termination message while the upload runs. If the launcher is killed during the upload, the figures are not lost.
pub(super) fn unfinished(bucket: &Bucket, folder: &str) -> String {
    format!(
        "ended before its results were in {}; these are the figures of the load. Raise execution.gracePeriodSeconds if the run was stopped",
        bucket.uri(folder)
    )
}

fn wanted<'a>(run: &'a ResolvedRun, options: &RunOptions) -> Option<&'a Upload> {
    run.upload.as_ref().filter(|_| run.store_results && options.in_pod() && !options.no_results)
}

/// Downloads the results of an earlier attempt from the bucket into the results folder, so that they can be read as on a claim. Files that cannot be
/// read count as missing.
pub(super) fn fetch_earlier(run: &ResolvedRun, options: &RunOptions, earlier: &RunIdentity) {
    let Some(upload) = wanted(run, options) else { return };
    let folder = earlier.attempt_name();
    let Ok(resolver) = egress::resolver(run) else { return };
    let fetched = Bucket::open(upload, &resolver).and_then(|bucket| {
        let to = options.results().join(&folder);
        fs::create_dir_all(&to).map_err(|source| BucketError::File { path: to.clone(), source })?;
        let names = [(MESSAGE_FILE_NAME, MAX_MESSAGE), ("profile.yaml", MAX_FILE), (REPORT_FILE_NAME, MAX_FILE)];
        bucket.fetch(&folder, &names, &to)
    });
    match fetched {
        Ok(true) => {}
        Ok(false) => info!(folder, "the earlier attempt left no complete folder in the bucket"),
        Err(error) => warn!(folder, %error, "the folder of an earlier attempt cannot be read from the bucket"),
    }
}

/// Deletes the downloaded files of an earlier attempt.
pub(super) fn forget_earlier(run: &ResolvedRun, options: &RunOptions, earlier: &RunIdentity) {
    if wanted(run, options).is_some() {
        remove(&options.results().join(earlier.attempt_name()));
    }
}

fn remove(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        warn!(folder = %folder.display(), %error, "the downloaded files of an earlier attempt could not be deleted");
    }
}
