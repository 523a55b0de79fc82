//! [I/O] Detects the format of a file by its first bytes and its name, and selects the reader for its rows.

use files::{
    file_digest::{DigestReader, FileDigest},
    user_file,
};
use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Cursor, Read},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use python_data::{npy, zip};
use workload_profiles::workload::DataSetFormat;

use super::{
    DataSetError,
    compression::{Compression, decompressed},
    json,
    limits::Limits,
    parquet, plain,
    python::{self, PADDED},
    sink::RowSink,
    tree,
};

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";
/// Maximum number of files in a folder.
const MAX_FILES: usize = 10_000;
/// Number of bytes at the start of a file that are used to detect its format.
const START: usize = 16;

/// Information about a file whose rows were read.
pub(super) struct Source {
    pub(super) file: FileDigest,
    pub(super) format: DataSetFormat,
    pub(super) notices: Vec<String>,
}

/// The format that begins with these bytes; `None` if no known format does.
fn marked(start: &[u8]) -> Option<DataSetFormat> {
    if start.starts_with(PARQUET) {
        Some(DataSetFormat::Parquet)
    } else if start.starts_with(npy::MAGIC) || start.starts_with(zip::MAGIC) {
        Some(DataSetFormat::Npy)
    } else if matches!(start, [0x80, 2..=5, ..]) {
        Some(DataSetFormat::Pickle)
    } else {
        None
    }
}

/// Reads the rows of a file. The content of the file decides about the format.
pub(super) fn feed(sink: &mut impl RowSink, path: &Path, limits: Limits) -> Result<Source, DataSetError> {
    if path.is_dir() {
        return folder(sink, path, limits);
    }
    feed_file(sink, path, limits)
}

fn feed_file(sink: &mut impl RowSink, path: &Path, limits: Limits) -> Result<Source, DataSetError> {
    let failed = |cause| DataSetError::Read { path: path.to_owned(), cause };
    let file = user_file::open(path).map_err(failed)?;
    let named = DataSetFormat::from_path(path);
    let is_file = file.metadata().is_ok_and(|it| it.is_file());
    if is_file && is_parquet(&file, named) {
        let notices = disagreement(named, DataSetFormat::Parquet).into_iter().collect();
        parquet::read(sink, file)?;
        let again = user_file::open(path).map_err(failed)?;
        let file = DigestReader::new(again).finish(path, u64::MAX).map_err(failed)?;
        return Ok(Source { file, format: DataSetFormat::Parquet, notices });
    }
    let mut file = DigestReader::new(file);
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let Streamed { format, notices } = stream(sink, named, &name, &mut file, limits)?;
    let file = file.finish(path, u64::MAX).map_err(failed)?;
    Ok(Source { file, format, notices })
}

/// Whether a file is read as Parquet. It is if its content is Parquet, or if its name says so and its content shows no other format. The file must
/// not be a pipe.
pub(super) fn is_parquet(file: &File, named: Option<DataSetFormat>) -> bool {
    let mut start = [0; START];
    let length = file.read_at(&mut start, 0).unwrap_or_default();
    let marked = marked(start.get(..length).unwrap_or_default());
    marked.or(named) == Some(DataSetFormat::Parquet)
}

/// The display name of a format.
pub(super) fn format_name(format: DataSetFormat) -> &'static str {
    match format {
        DataSetFormat::Json => "JSON",
        DataSetFormat::Jsonl => "JSON Lines",
        DataSetFormat::Csv => "CSV",
        DataSetFormat::Parquet => "Parquet",
        DataSetFormat::Text => "text",
        DataSetFormat::Pickle => "a pickle",
        DataSetFormat::Npy => "npy or npz",
    }
}

/// A notice that the content has another format than the name or the profile suggests; `None` if they agree.
pub(super) fn disagreement(named: Option<DataSetFormat>, found: DataSetFormat) -> Option<String> {
    let named = named.filter(|it| *it != found)?;
    Some(format!(
        "it is declared as {}, but is read as {}, because that is its content",
        format_name(named),
        format_name(found)
    ))
}

/// Information about a stream whose rows were read.
pub(super) struct Streamed {
    pub(super) format: DataSetFormat,
    pub(super) notices: Vec<String>,
}

/// Reads the rows of a byte stream, which can be compressed. `named` is the format according to the profile or the name.
pub(super) fn stream(
    sink: &mut impl RowSink,
    named: Option<DataSetFormat>,
    name: &str,
    mut bytes: impl Read,
    limits: Limits,
) -> Result<Streamed, DataSetError> {
    let mut notices = Vec::new();
    let start = start_of(&mut bytes).map_err(|cause| sink.read_error(cause))?;
    let by_name = Compression::from_name(name);
    let by_content = Compression::from_content(&start);
    if let Some(found) = by_content.filter(|it| by_name != Some(*it)) {
        notices.push(format!("it is compressed with {}, which its name does not say", found.name()));
    }
    let bytes = decompressed(Cursor::new(start).chain(bytes), by_content.or(by_name));
    let mut bytes = BufReader::with_capacity(256 << 10, bytes.take(limits.file.saturating_add(1)));
    let start = bytes.fill_buf().map_err(|cause| sink.read_error(cause))?;
    let format = match (marked(start), named) {
        (Some(format), _) | (None, Some(format)) => format,
        (None, None) => by_first_sign(start),
    };
    let read = read_rows(sink, format, &mut bytes, limits);
    // This is checked first: if the file is cut at the size limit, the last row can lack the column to send.
    if bytes.get_ref().limit() == 0 && !sink.is_complete() {
        return Err(DataSetError::TooLong { path: sink.path().to_owned(), most: limits.file });
    }
    let format = read?;
    notices.extend(disagreement(named, format));
    Ok(Streamed { format, notices })
}

/// Reads the first bytes. A pipe can return only a few bytes at a time.
fn start_of(bytes: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(START);
    bytes.by_ref().take(START as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// The first character after white space and a UTF-8 byte order mark; `None` if there is none.
fn first_sign(start: &[u8]) -> Option<u8> {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    start.iter().copied().find(|it| !it.is_ascii_whitespace())
}

fn by_first_sign(start: &[u8]) -> DataSetFormat {
    if matches!(first_sign(start), Some(b'[' | b'{')) { DataSetFormat::Json } else { DataSetFormat::Csv }
}

/// Reads the rows of a file with this format. For an archive, `format` is the format of the file within it.
fn read_rows(
    sink: &mut impl RowSink,
    format: DataSetFormat,
    bytes: &mut BufReader<impl Read>,
    limits: Limits,
) -> Result<DataSetFormat, DataSetError> {
    if matches!(format, DataSetFormat::Pickle | DataSetFormat::Npy) {
        let mut whole = Vec::new();
        bytes.read_to_end(&mut whole).map_err(|cause| sink.read_error(cause))?;
        if whole.len() as u64 > limits.file {
            return Err(DataSetError::TooLong { path: sink.path().to_owned(), most: limits.file });
        }
        return python_rows(sink, format, &whole, limits);
    }
    let start = bytes.fill_buf().map_err(|cause| sink.read_error(cause))?;
    let mark = b"\xef\xbb\xbf";
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Err(sink.wrong("byte 0".to_owned(), "is the mark of UTF-16; save the file as UTF-8 text".to_owned()));
    }
    let is_object = first_sign(start) == Some(b'{');
    if start.starts_with(mark) {
        bytes.consume(mark.len());
    }
    match format {
        DataSetFormat::Json if is_object => tree::read(sink, bytes),
        DataSetFormat::Json => json::array(sink, bytes),
        DataSetFormat::Jsonl => json::lines(sink, bytes),
        DataSetFormat::Csv => plain::csv(sink, bytes),
        DataSetFormat::Text => plain::text(sink, bytes),
        // A Parquet file has the positions of its rows at its end, so it cannot be read as a stream.
        DataSetFormat::Parquet => {
            let what = "is compressed as a whole, or comes through a pipe; give the file itself: its columns are compressed already";
            Err(sink.wrong("as a Parquet file".to_owned(), what.to_owned()))
        }
        DataSetFormat::Pickle | DataSetFormat::Npy => Ok(()),
    }
    .map(|()| format)
}

fn python_rows(
    sink: &mut impl RowSink,
    format: DataSetFormat,
    bytes: &[u8],
    limits: Limits,
) -> Result<DataSetFormat, DataSetError> {
    if !bytes.starts_with(zip::MAGIC) {
        let read = if format == DataSetFormat::Npy { python::npy(sink, bytes) } else { python::pickle(sink, bytes) };
        return read.map(|()| format);
    }
    let files = python::unpack(sink, bytes, limits.file)?;
    match files.as_slice() {
        [] => Err(sink.wrong("as a zip archive".to_owned(), "holds no file".to_owned())),
        all if all.iter().all(|it| python::is_npy(&it.0)) => python::npz(sink, all).map(|()| DataSetFormat::Npy),
        [(_, bytes)] if bytes.starts_with(zip::MAGIC) => {
            Err(sink.wrong("as a zip archive".to_owned(), "holds another archive; unpack it".to_owned()))
        }
        [(name, bytes)] => {
            let format = marked(bytes).or_else(|| DataSetFormat::from_path(Path::new(name)));
            let format = format.unwrap_or_else(|| by_first_sign(bytes));
            read_rows(sink, format, &mut BufReader::new(bytes.as_slice()), limits)
        }
        all => {
            let what = format!("holds {} files that are not all arrays; unpack it, and give one of them", all.len());
            Err(sink.wrong("as a zip archive".to_owned(), what))
        }
    }
}

/// Reads a folder: arrays that belong together, or data sets in the same format. Data sets are read one after another, sorted by file name. To
/// compute the digest, the lines that `sha256sum` prints for the files are hashed in that order.
pub(super) fn folder(sink: &mut impl RowSink, path: &Path, limits: Limits) -> Result<Source, DataSetError> {
    let failed = |cause| DataSetError::Read { path: path.to_owned(), cause };
    let mut sums = String::new();
    let mut add = |name: &str, file: &FileDigest| {
        sums.push_str(&format!("{}  {name}\n", file.sha256.as_deref().unwrap_or_default()));
    };
    if path.join(PADDED[0]).exists() {
        let mut files = [None, None, None];
        for (slot, name) in files.iter_mut().zip(PADDED) {
            let file = path.join(name);
            if fs::exists(&file).unwrap_or_default() {
                let bytes = user_file::read(&file, limits.file).map_err(failed)?;
                add(name, &FileDigest::from_bytes(&file, &bytes));
                *slot = Some(bytes);
            }
        }
        python::padded(sink, files)?;
        let file = FileDigest::from_bytes(path, sums.as_bytes());
        return Ok(Source { file, format: DataSetFormat::Npy, notices: Vec::new() });
    }
    let (files, format) = files_of(path).map_err(failed)?;
    let mut notices = Vec::new();
    for file in &files {
        let name = file.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        let read = if sink.is_complete() { Err(None) } else { feed_file(sink, file, limits).map_err(Some) };
        match read {
            Ok(read) => {
                add(&name, &read.file);
                notices.extend(read.notices.into_iter().map(|it| format!("{name}: {it}")));
            }
            // Enough rows were read, so errors in the remaining files do not matter.
            Err(_) if sink.is_complete() => {
                let rest = user_file::open(file).and_then(|it| DigestReader::new(it).finish(file, u64::MAX));
                add(&name, &rest.map_err(failed)?);
            }
            Err(Some(DataSetError::Wrong { at, what, .. })) => {
                return Err(DataSetError::Wrong { path: file.clone(), at, what });
            }
            Err(Some(error)) => return Err(error),
            Err(None) => {}
        }
    }
    Ok(Source { file: FileDigest::from_bytes(path, sums.as_bytes()), format, notices })
}

/// The data sets in a folder, sorted by name, and their format. They are recognised by their file extensions.
fn files_of(path: &Path) -> io::Result<(Vec<PathBuf>, DataSetFormat)> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        if DataSetFormat::from_path(&file).is_some() && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    let formats: Vec<DataSetFormat> = files.iter().filter_map(|it| DataSetFormat::from_path(it)).collect();
    let wrong = |what: String| io::Error::new(io::ErrorKind::IsADirectory, what);
    let Some(format) = formats.first().copied() else {
        return Err(wrong(format!("it is a folder without a data set, and without {}; give a file", PADDED[0])));
    };
    if files.len() > MAX_FILES {
        return Err(wrong(format!("it is a folder of {} data sets; at most {MAX_FILES} are read", files.len())));
    }
    match formats.iter().find(|it| **it != format) {
        Some(other) => Err(wrong(format!(
            "it is a folder of data sets in several formats, {} and {}; give one file, or a folder with files of one format",
            format_name(format),
            format_name(*other)
        ))),
        None => Ok((files, format)),
    }
}
