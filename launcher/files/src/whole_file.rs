//! [I/O] Writes a file atomically: writes it under a temporary name, flushes it to the disk, and renames it.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::Path,
};

use crds::hex;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

/// Length and digest of a file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub bytes: u64,
    /// The SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// Writes a file with what `fill` produces, and creates its folder if it is missing. After an error, no part of the file remains. An existing regular
/// file or symlink is replaced; anything else at the path is an error.
///
/// # Errors
/// The file cannot be written, the path is neither a regular file nor a symlink, or `fill` fails.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<Written> {
    if fs::symlink_metadata(path).is_ok_and(|it| !it.is_file() && !it.is_symlink()) {
        return Err(io::Error::other("it is neither a file nor a link; remove it"));
    }
    let (file, written) = filled(folder_of(path), fill)?;
    file.persist(path)?;
    Ok(written)
}

/// Like [`write_whole`], but never replaces an existing file.
///
/// # Errors
/// See [`write_whole`]. `AlreadyExists` if the path exists.
pub fn write_new(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<Written> {
    let (file, written) = filled(folder_of(path), fill)?;
    file.persist_noclobber(path)?;
    Ok(written)
}

/// Creates a temporary file in `folder` with what `fill` produces, and flushes it to the disk.
fn filled(
    folder: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<(NamedTempFile, Written)> {
    fs::create_dir_all(folder)?;
    let mut buffered = BufWriter::new(Counted::new(temporary(folder)?));
    fill(&mut buffered)?;
    let (file, written) = buffered.into_inner().map_err(io::IntoInnerError::into_error)?.finish();
    // Flushed explicitly, because only this call fails on some systems if the disk is full.
    file.as_file().sync_all()?;
    Ok((file, written))
}

/// The parent folder of a path; `.` if the path is only a file name.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file that is removed when the value is dropped. The umask decides who may read it, as for a file that a shell creates.
pub(crate) fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new();
    #[cfg(unix)]
    file.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    file.prefix(".").suffix(".tmp").tempfile_in(folder)
}

/// A writer that counts and hashes the bytes that are written through it.
#[derive(Debug)]
pub struct Counted<W> {
    inner: W,
    bytes: u64,
    hash: Sha256,
}

impl<W> Counted<W> {
    pub fn new(inner: W) -> Counted<W> {
        Counted { inner, bytes: 0, hash: Sha256::new() }
    }

    /// Returns the inner writer, and the length and digest of the bytes.
    pub fn finish(self) -> (W, Written) {
        let Counted { inner, bytes, hash } = self;
        (inner, Written { bytes, sha256: hex(&hash.finalize()) })
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.hash.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/a.md");
        write_whole(&path, |file| file.write_all(b"first")).unwrap();
        let written = write_whole(&path, |file| file.write_all(b"abc")).unwrap();
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
        assert_eq!(written, Written { bytes: 3, sha256 });
        let failed = write_whole(&path, |file| file.write_all(b"half").and(Err(io::ErrorKind::StorageFull.into())));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"abc");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert_ne!(fs::metadata(&path).unwrap().permissions().mode() & 0o600, 0);
    }

    #[test]
    fn a_new_file_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("below/a.yaml"), folder.path().join("link"));
        write_new(&path, |file| file.write_all(b"first")).unwrap();
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        for existing in [&path, &link] {
            let refused = write_new(existing, |file| file.write_all(b"second"));
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
