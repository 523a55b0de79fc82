//! [I/O] Opens and reads files that a user names.
//!
//! Regular files and pipes can be read. A shell passes a pipe for `-f <(cat run.yaml)`. Devices, sockets and folders are refused, because a device
//! can have no end. The size of a pipe, or of a file in /proc, is unknown before it is read. So the limit applies to the bytes that are read. Opening
//! a pipe waits for its writer. So a caller that handles signals should read on a thread that it does not join.

use std::{
    fs::{self, File, FileType},
    io::{self, ErrorKind, Read as _},
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    path::Path,
};

use rustix::fs::OFlags;

/// Opens a regular file or a pipe.
///
/// # Errors
/// The path is neither a regular file nor a pipe, or cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    // The type is checked first, because opening a device can have side effects.
    refuse(fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    // The type is checked again, because the file might have been replaced in the meantime.
    refuse(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a regular file without ever blocking. Use it for a path that another user may control.
///
/// # Errors
/// The path is not a regular file, or cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // With this flag, opening a pipe does not wait for its writer. The flag has no effect on a regular file.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file; remove it"))
}

/// Reads a whole file of at most `most` bytes.
///
/// # Errors
/// The file cannot be opened (see [`open`]), is longer than `most`, or cannot be read.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_all(open(path)?, most)
}

/// Reads a whole regular file of at most `most` bytes, without blocking.
///
/// # Errors
/// The file cannot be opened (see [`open_regular`]), is longer than `most`, or cannot be read.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_all(open_regular(path)?, most)
}

fn read_all(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let what =
            format!("it has more than {most} bytes, the most that is read here; check that it is the right file");
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// Reads a whole UTF-8 file of at most `most` bytes.
///
/// # Errors
/// The file cannot be read (see [`read`]), or is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    text(read(path, most)?)
}

/// Reads a whole regular UTF-8 file of at most `most` bytes, without blocking.
///
/// # Errors
/// The file cannot be read (see [`read_regular`]), or is not UTF-8.
pub fn read_regular_text(path: &Path, most: u64) -> io::Result<String> {
    text(read_regular(path, most)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(at).copied().unwrap_or_default();
        let what = format!("byte {at}, counted from 0, is {byte:#04x}, which is no UTF-8; save it as UTF-8 text");
        io::Error::new(ErrorKind::InvalidData, what)
    })
}

fn refuse(kind: FileType) -> io::Result<()> {
    let (what, error) = match kind {
        kind if kind.is_file() || kind.is_fifo() => return Ok(()),
        kind if kind.is_dir() => ("a folder", ErrorKind::IsADirectory),
        kind if kind.is_char_device() => ("a character device", ErrorKind::InvalidInput),
        kind if kind.is_block_device() => ("a block device", ErrorKind::InvalidInput),
        _ => ("a socket", ErrorKind::InvalidInput),
    };
    Err(io::Error::new(error, format!("it is {what}; give a file or a pipe")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &Path, most: u64, kind: ErrorKind, part: &str) {
        let error = read_text(path, most).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(part), "{}: {error:?}", path.display());
    }

    #[test]
    fn what_has_no_end_or_no_bytes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), 9, ErrorKind::IsADirectory, "it is a folder; give a file");
        check(Path::new("/dev/zero"), 9, ErrorKind::InvalidInput, "it is a character device");
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        check(&socket, 9, ErrorKind::InvalidInput, "it is a socket");
        check(&folder.path().join("none"), 9, ErrorKind::NotFound, "No such file");
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert_eq!(read_regular_text(&path, 5).unwrap(), "12345");
        check(&path, 4, ErrorKind::FileTooLarge, "more than 4 bytes");
        fs::write(&path, b"ab\xff").unwrap();
        check(&path, 9, ErrorKind::InvalidData, "byte 2, counted from 0, is 0xff");
    }

    #[test]
    fn a_pipe_is_read_up_to_the_same_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        // The pipe has no writer yet, so a blocking open would wait forever.
        assert_eq!(read_regular(&path, 9).unwrap_err().kind(), ErrorKind::InvalidInput);
        for (most, read) in [(5, true), (4, false)] {
            let writer = std::thread::spawn({
                let path = path.clone();
                // Write errors are ignored, because the reader can close the pipe before it has read everything.
                move || drop(fs::write(path, "12345"))
            });
            assert_eq!(read_text(&path, most).is_ok(), read, "{most}");
            writer.join().unwrap();
        }
    }
}
