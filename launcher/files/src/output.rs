//! [I/O] Writes a result to the destination that a user names: a file, a device, a pipe, or standard output.

use std::{
    fs::{self, File, Metadata},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::whole_file::{Counted, Written, folder_of, temporary, write_whole};

/// The destination of a result.
enum Place {
    /// Standard output, under any name such as `/dev/stdout`. If it is redirected to a file, the existing content of that file is kept.
    Stdout,
    /// A device or a pipe, such as `/dev/null` or `>(command)`. It is written to, and never replaced by a file.
    Device,
    /// A regular file, or a path at which nothing exists yet. If the path is a symlink, the link is kept, and its target is written.
    File(PathBuf),
}

/// Checks that a result can be written. Call it before the work that produces the result. Creates the folder of the file if it is missing.
///
/// # Errors
/// `path` is a folder, or files cannot be created in its folder.
pub fn check(path: &Path) -> io::Result<()> {
    match place(path)? {
        Place::File(path) => {
            fs::create_dir_all(folder_of(&path))?;
            temporary(folder_of(&path)).map(drop)
        }
        Place::Stdout | Place::Device => Ok(()),
    }
}

/// Writes what `fill` produces. A regular file is replaced atomically, and its folder is created if it is missing. A pipe can only be opened once it
/// has a reader, so this can wait.
///
/// # Errors
/// `path` is a folder or cannot be written, or `fill` fails.
pub fn write(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<Written> {
    match place(path)? {
        Place::Stdout => pour(io::stdout(), fill),
        Place::Device => pour(File::options().write(true).open(path)?, fill),
        Place::File(path) => write_whole(&path, fill),
    }
}

fn pour(to: impl Write + Send, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<Written> {
    let mut to = BufWriter::new(Counted::new(to));
    fill(&mut to)?;
    let (mut to, written) = to.into_inner().map_err(io::IntoInnerError::into_error)?.finish();
    to.flush()?;
    Ok(written)
}

fn place(path: &Path) -> io::Result<Place> {
    match path.metadata() {
        Ok(found) if is_stdout(&found) => return Ok(Place::Stdout),
        Ok(found) if found.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
        Ok(found) if !found.is_file() => return Ok(Place::Device),
        _ => {}
    }
    Ok(Place::File(match path.canonicalize() {
        Ok(path) => path,
        // Nothing exists at this path, except perhaps a link to something that does not exist yet.
        Err(_) => {
            folder_of(path).join(path.read_link().unwrap_or_else(|_| path.file_name().unwrap_or_default().into()))
        }
    }))
}

#[cfg(unix)]
fn is_stdout(file: &Metadata) -> bool {
    use std::os::{fd::AsFd as _, unix::fs::MetadataExt as _};
    let stdout = io::stdout().as_fd().try_clone_to_owned().and_then(|it| File::from(it).metadata());
    stdout.is_ok_and(|it| (it.dev(), it.ino()) == (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn is_stdout(_file: &Metadata) -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::{FileTypeExt as _, symlink},
        thread,
    };

    use super::*;

    fn say(path: &Path) -> io::Result<Written> {
        check(path)?;
        write(path, |to| to.write_all(b"abc"))
    }

    #[test]
    fn a_file_is_written_whole_and_a_link_to_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        symlink("file", &link).unwrap();
        for _ in 0..2 {
            assert_eq!(say(&link).unwrap().bytes, 3);
            assert_eq!(fs::read(&file).unwrap(), b"abc");
            assert_eq!(fs::read_link(&link).unwrap(), Path::new("file"));
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        assert_eq!(say(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        write(&folder.path().join("new/file"), |to| to.write_all(b"abc")).unwrap();
    }

    #[test]
    fn a_pipe_or_a_device_receives_the_bytes_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        say(&pipe).unwrap();
        assert_eq!(reader.join().unwrap(), b"abc");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        // The test uses links to the devices, so that a defect would replace the links instead of the devices of this machine.
        for (device, ok) in [("/dev/null", true), ("/dev/full", false)] {
            let link = folder.path().join(&device[5..]);
            symlink(device, &link).unwrap();
            assert_eq!(say(&link).is_ok(), ok);
            assert!(fs::metadata(&link).unwrap().file_type().is_char_device());
        }
        // `write_whole` does not replace a pipe, even in a folder of our own.
        assert!(write_whole(&pipe, |to| to.write_all(b"abc")).unwrap_err().to_string().contains("neither a file"));
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    }
}
