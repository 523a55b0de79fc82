//! [I/O] Uploads a folder to a bucket, and reads files back. The marker file is uploaded after all other files.

use std::{
    fs::{self, File},
    future::Future,
    io::{self, Read as _, Write as _},
    path::Path,
    time::Duration,
};

use bytes::Bytes;
use tracing::{info, warn};

use super::{Bucket, BucketError, Call, Fault, Time, fault::element};

/// Size in bytes of each part of a large file. A file of at most this size is sent in one piece.
pub(super) const PART: u64 = 8 << 20;
/// Maximum number of parts in S3.
const MAX_PARTS: u64 = 10_000;
/// Timeout for the deletion of an unfinished upload.
const TO_ABORT: Duration = Duration::from_secs(10);
/// Timeout of the bucket check before the load.
const TO_CHECK: Duration = Duration::from_secs(20);
/// Timeout for reading the files of an earlier attempt.
const TO_FETCH: Duration = Duration::from_secs(120);
/// The object in the attempt's folder that tests whether the bucket is writable.
const TEST_OBJECT: &str = "write-test.txt";
const TEST_TEXT: &str = "A launcher wrote this file to test its write access. It deletes the file at once.\n";

/// The number of files and bytes that were uploaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uploaded {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

impl Bucket {
    /// Writes and deletes a small object where a folder will be uploaded. If the object cannot be deleted, there is only a warning, because some
    /// buckets keep all objects.
    ///
    /// # Errors
    /// The object cannot be written within 20 seconds.
    pub(crate) fn check(&self, folder: &str) -> Result<(), BucketError> {
        let key = self.key(folder, TEST_OBJECT);
        run(async {
            let time = Time::start(TO_CHECK);
            self.put(&time, &key, Bytes::from_static(TEST_TEXT.as_bytes())).await?;
            if let Err(error) = self.send(&time, &Call::Delete { key: &key }).await {
                warn!(%error, "the object that tested write access could not be deleted; it stays in the bucket");
            }
            Ok(())
        })
    }

    /// Uploads all files of a folder under the folder's name. The file `mark` is uploaded last. The server verifies each file by its checksum, and
    /// the size of the stored object is compared.
    ///
    /// # Errors
    /// A file cannot be read, or cannot be stored within the time limit of the upload.
    pub(crate) fn upload(&self, local: &Path, folder: &str, mark: &str) -> Result<Uploaded, BucketError> {
        let mut files = Vec::new();
        list(local, "", &mut files).map_err(|source| BucketError::File { path: local.to_owned(), source })?;
        files.sort_by_key(|it| (it == mark, it.clone()));
        run(async {
            let time = Time::start(self.place.timeout.0);
            let mut uploaded = Uploaded::default();
            for name in &files {
                uploaded.bytes += self.upload_file(&time, &local.join(name), &self.key(folder, name)).await?;
                uploaded.files += 1;
            }
            Ok(uploaded)
        })
    }

    async fn upload_file(&self, time: &Time, path: &Path, key: &str) -> Result<u64, BucketError> {
        let unread = |source| BucketError::File { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(unread)?;
        let size = file.metadata().map_err(unread)?.len();
        if size > PART * MAX_PARTS {
            return Err(BucketError::TooLarge { path: path.to_owned(), most: PART * MAX_PARTS });
        }
        if size > PART {
            self.upload_parts(time, &mut file, path, key, size).await?;
            self.compare_size(time, key, size).await?;
        } else {
            let body = part(&mut file).map_err(unread)?;
            self.put(time, key, body).await?;
        }
        Ok(size)
    }

    async fn put(&self, time: &Time, key: &str, body: Bytes) -> Result<(), BucketError> {
        let size = body.len() as u64;
        self.send(time, &Call::Put { key, body }).await?;
        self.compare_size(time, key, size).await
    }

    /// Sends a large file in parts. After a failure the sent parts are deleted, because the bucket would keep and bill them.
    async fn upload_parts(
        &self,
        time: &Time,
        file: &mut File,
        path: &Path,
        key: &str,
        size: u64,
    ) -> Result<(), BucketError> {
        let begun = self.send(time, &Call::Begin { key }).await?;
        let upload = element(&begun.body, "UploadId").filter(|it| !it.is_empty());
        let upload = upload.ok_or_else(|| self.failed("written", key, Fault::BrokenAnswer))?;
        let sent = self.send_parts(time, file, path, key, upload, size).await;
        if sent.is_err() {
            let call = Call::Abort { key, upload };
            if let Err(error) = self.send(&Time::start(TO_ABORT), &call).await {
                warn!(%error, "the parts of an unfinished upload stay in the bucket until its lifecycle rules delete them");
            }
        }
        sent
    }

    async fn send_parts(
        &self,
        time: &Time,
        file: &mut File,
        path: &Path,
        key: &str,
        upload: &str,
        size: u64,
    ) -> Result<(), BucketError> {
        let mut etags = Vec::new();
        for number in 1..=size.div_ceil(PART) {
            let body = part(file).map_err(|source| BucketError::File { path: path.to_owned(), source })?;
            let number = u16::try_from(number).expect("a file has at most 10,000 parts");
            let answer = self.send(time, &Call::Part { key, upload, number, body }).await?;
            etags.push(answer.etag.ok_or_else(|| self.failed("written", key, Fault::BrokenAnswer))?);
        }
        self.send(time, &Call::Complete { key, upload, etags: &etags }).await.map(drop)
    }

    /// Checks that a stored object has the size of the file.
    async fn compare_size(&self, time: &Time, key: &str, wanted: u64) -> Result<(), BucketError> {
        let found = self.send(time, &Call::Head { key }).await?.length.unwrap_or_default();
        if found == wanted {
            return Ok(());
        }
        Err(BucketError::Size { uri: format!("s3://{}/{key}", self.place.bucket), found, wanted })
    }

    /// Downloads files of a folder into a local folder. Each file name comes with a maximum size in bytes. Returns whether all files exist.
    ///
    /// # Errors
    /// The bucket cannot be read, or a file cannot be written.
    pub(crate) fn fetch(&self, folder: &str, names: &[(&str, u64)], to: &Path) -> Result<bool, BucketError> {
        run(async {
            let time = Time::start(TO_FETCH);
            for (name, most) in names {
                let key = self.key(folder, name);
                let size = match self.send(&time, &Call::Head { key: &key }).await {
                    Ok(answer) => answer.length.unwrap_or_default(),
                    Err(error) if error.is_missing() => return Ok(false),
                    Err(error) => return Err(error),
                };
                let path = to.join(name);
                if size > *most {
                    return Err(BucketError::TooLarge { path, most: *most });
                }
                self.download(&time, &key, &path, *most).await?;
            }
            Ok(true)
        })
    }

    async fn download(&self, time: &Time, key: &str, path: &Path, most: u64) -> Result<(), BucketError> {
        let cannot = |source| BucketError::File { path: path.to_owned(), source };
        let failed = |fault| self.failed("read", key, fault);
        let mut file = File::create(path).map_err(cannot)?;
        let limited = clock::limit(time.left(), async {
            let mut response = self.begin(&Call::Get { key }).await.map_err(failed)?;
            let status = response.status().as_u16();
            if !response.status().is_success() {
                return Err(failed(Fault::Status { status, code: None }));
            }
            let mut left = most;
            while let Some(chunk) = response.chunk().await.map_err(|error| failed(Fault::of_client(&error)))? {
                let over = || BucketError::TooLarge { path: path.to_owned(), most };
                left = left.checked_sub(chunk.len() as u64).ok_or_else(over)?;
                file.write_all(&chunk).map_err(cannot)?;
            }
            Ok(())
        });
        limited.await.unwrap_or_else(|_| Err(failed(Fault::Timeout)))
    }
}

/// Runs requests on a runtime of their own.
fn run<T>(requests: impl Future<Output = Result<T, BucketError>>) -> Result<T, BucketError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(BucketError::Runtime)?;
    runtime.block_on(requests)
}

/// Reads the next part of a file, or the rest of the file.
fn part(file: &mut File) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    file.take(PART).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Lists the names of all regular files below a folder, with slashes between folders. Symbolic links are left out, because they can point anywhere.
fn list(folder: &Path, before: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let (kind, path) = (entry.file_type()?, format!("{before}{name}"));
        if kind.is_dir() {
            list(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            files.push(path);
        } else {
            info!(file = path, "a file of the results folder is no regular file, and is not uploaded");
        }
    }
    Ok(())
}
