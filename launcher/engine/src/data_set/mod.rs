//! [I/O] Reads the prompts of a data set from a file: a JSON array of objects, or one JSON object a line.
//!
//! The file is read as a stream, and only the prompts are kept: a file of hundreds of MB takes no more memory than its
//! prompts. As with a trace, a message names the row and the problem, and never repeats the content. Deliberately
//! absent: other formats, which need readers of their own.

mod row;
mod rows;

use std::{
    cell::Cell,
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use serde::de::{DeserializeSeed, Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::{Deserializer, error::Category};
use workload_profiles::{
    Notice, Workload,
    workload::{DataSet, DataSetFormat, PromptColumn, RequestSource, RowContent},
};

use crate::{
    file_digest::{DigestReader, FileDigest},
    lines::{Bounded, Line, read_line},
    user_file,
};
use row::{Prompt, RowSeed};
pub use rows::Rows;

/// The most bytes that are read: five times MLPerf's largest data set with one token a line.
const MAX_BYTES: u64 = 4 << 30;
/// The most bytes of a line, or of a row of an array: a prompt of two million tokens and the other columns.
const MAX_ROW: usize = 64 << 20;
/// The most bytes of memory for all prompts: 250 million token ids.
const MAX_KEPT: usize = 1 << 30;

/// Why a data set cannot be sent. The message contains the cause, which is therefore no `source`.
#[derive(Debug, thiserror::Error)]
pub enum DataSetError {
    /// The file cannot be read.
    #[error("cannot read the data set {path}: {cause}; a relative path counts from the folder of the file that names it; in a cluster, name the file in spec.profile.files", path = path.display())]
    Read { path: PathBuf, cause: io::Error },
    /// The file does not have the form of its format.
    #[error("the data set {path}, {at}: {what}", path = path.display())]
    Wrong {
        path: PathBuf,
        /// A row or a line.
        at: String,
        /// The problem and the remedy, without the content of the row.
        what: String,
    },
    /// The rows cannot be read yet.
    #[error("the data set {path} has rows that cannot be read yet; convert it to JSON Lines with a column of prompts", path = path.display())]
    NotYet { path: PathBuf },
    /// The file is too long.
    #[error("the data set {path} has more than {most} bytes; leave out the columns that are not sent", path = path.display())]
    TooLong {
        path: PathBuf,
        /// The most bytes that are read.
        most: u64,
    },
    /// The file holds fewer samples than are to be sent.
    #[error("the data set {path} has {found} rows, and {wanted} are to be used; lower the count, or give the whole file", path = path.display())]
    TooFew {
        path: PathBuf,
        /// Rows in the file.
        found: usize,
        /// Rows that the profile needs.
        wanted: u64,
    },
}

#[derive(Clone, Debug, Default)]
pub struct ReadDataSet {
    pub rows: Rows,
    /// The file, with the digest of all its bytes where it has one; `None`: the requests have another source.
    pub file: Option<FileDigest>,
    /// Why the file has no digest.
    pub notice: Option<Notice>,
}

/// Reads the prompts of a workload's data set; none if its requests have another source.
///
/// # Errors
/// The file cannot be read, a row holds no prompt, or there are too few rows.
pub fn read(workload: &Workload) -> Result<Rows, DataSetError> {
    let RequestSource::DataSet(set) = &workload.requests else { return Ok(Rows::default()) };
    read_within(set, open(set)?, MAX_BYTES, MAX_ROW)
}

/// Reads the prompts like [`read`], and then the rest of the file for its digest. What is wrong with the rest does not matter
/// to the load: the file then has no digest, and a notice says why.
///
/// # Errors
/// As [`read`].
pub fn read_with_digest(workload: &Workload) -> Result<ReadDataSet, DataSetError> {
    let RequestSource::DataSet(set) = &workload.requests else { return Ok(ReadDataSet::default()) };
    let file = open(set)?;
    // The writer of a pipe may keep it open for ever.
    let has_end = file.metadata().is_ok_and(|it| it.is_file());
    let mut file = DigestReader::new(file);
    let rows = read_within(set, &mut file, MAX_BYTES, MAX_ROW)?;
    let (file, reason) =
        if has_end { digest(file, set.file.as_path(), MAX_BYTES) } else { without(set.file.as_path(), "it is a pipe") };
    let message = |reason| format!("the file {} has no digest in the report: {reason}", set.file.shown());
    let notice = reason.map(|reason| Notice { path: "data set".into(), message: message(reason) });
    Ok(ReadDataSet { rows, file: Some(file), notice })
}

/// The digest of a file whose rows were read, or the reason why it has none.
fn digest(file: DigestReader<impl Read>, path: &Path, most: u64) -> (FileDigest, Option<String>) {
    match file.finish(path, most) {
        Ok(FileDigest { sha256: None, .. }) => without(path, format!("it has more than {most} bytes")),
        Ok(digest) => (digest, None),
        Err(error) => without(path, format!("the part that is not used cannot be read: {error}")),
    }
}

fn without(path: &Path, reason: impl Into<String>) -> (FileDigest, Option<String>) {
    (FileDigest::unknown(path), Some(reason.into()))
}

fn open(set: &DataSet) -> Result<File, DataSetError> {
    user_file::open(set.file.as_path())
        .map_err(|cause| DataSetError::Read { path: set.file.as_path().to_owned(), cause })
}

/// Reads a file of at most `most` bytes, each row of which has fewer than `longest` bytes.
fn read_within(set: &DataSet, bytes: impl Read, most: u64, longest: usize) -> Result<Rows, DataSetError> {
    let mut bytes = BufReader::with_capacity(256 << 10, bytes.take(most.saturating_add(1)));
    let not_yet = || DataSetError::NotYet { path: set.file.as_path().to_owned() };
    let RowContent::Prompt(column) = &set.row else { return Err(not_yet()) };
    let mut reader = Reader { set, column, rows: Rows::default(), prompt: Prompt::default(), longest };
    let read = reader.read(&mut bytes);
    if reader.is_complete() || (set.count.is_none() && read.is_ok() && !reader.rows.is_empty()) {
        return Ok(reader.rows);
    }
    // Checked first: a row that was cut may hold no prompt.
    if bytes.get_ref().limit() == 0 {
        return Err(DataSetError::TooLong { path: set.file.as_path().to_owned(), most });
    }
    read?;
    Err(DataSetError::TooFew {
        path: set.file.as_path().to_owned(),
        found: reader.rows.len(),
        wanted: set.count.unwrap_or(1),
    })
}

/// The state of reading.
struct Reader<'a> {
    set: &'a DataSet,
    column: &'a PromptColumn,
    rows: Rows,
    /// The prompt of the current row; its memory is reused.
    prompt: Prompt,
    longest: usize,
}

impl Reader<'_> {
    fn is_complete(&self) -> bool {
        self.set.count.is_some_and(|it| self.rows.len() as u64 >= it)
    }

    fn read(&mut self, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
        let mark = b"\xef\xbb\xbf";
        if bytes.fill_buf().map_err(|cause| self.read_error(cause))?.starts_with(mark) {
            bytes.consume(mark.len());
        }
        match self.set.format {
            DataSetFormat::Json => self.json(bytes),
            DataSetFormat::Jsonl => self.jsonl(bytes),
            DataSetFormat::Csv | DataSetFormat::Parquet | DataSetFormat::Text => {
                Err(DataSetError::NotYet { path: self.set.file.as_path().to_owned() })
            }
        }
    }

    fn json(&mut self, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
        let left = Cell::new(self.longest);
        let mut json = Deserializer::from_reader(Bounded { bytes, left: &left });
        let read = json.deserialize_any(Array(self, &left)).and_then(|()| json.end());
        read.map_err(|error| {
            let at = format!("row {}, counted from 0", self.rows.len());
            match error.classify() {
                Category::Io if left.get() == 0 => self.too_long(at),
                // When enough rows were read, the result is taken from the rows before this error.
                Category::Io => self.read_error(error.into()),
                Category::Syntax | Category::Eof => {
                    let (line, column) = (error.line(), error.column());
                    self.wrong(format!("line {line}, column {column}"), "is no JSON from here on".to_owned())
                }
                Category::Data => {
                    let array = "is no JSON array of objects; write one, or an object a line into a file named .jsonl";
                    self.wrong(at, self.prompt.problem().unwrap_or_else(|| array.to_owned()))
                }
            }
        })
    }

    fn jsonl(&mut self, bytes: &mut impl BufRead) -> Result<(), DataSetError> {
        let mut text = Vec::new();
        for line in 1_u64.. {
            let at = || format!("line {line}");
            match read_line(bytes, self.longest, &mut text).map_err(|cause| self.read_error(cause))? {
                Line::End => break,
                Line::TooLong => return Err(self.too_long(at())),
                Line::Read => {}
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let mut json = Deserializer::from_slice(&text);
            let read = RowSeed { column: self.column, prompt: &mut self.prompt }.deserialize(&mut json);
            if let Err(error) = read.and_then(|()| json.end()) {
                let problem = self.prompt.problem().filter(|_| error.is_data());
                let none = || "is no JSON object; write one a line".to_owned();
                return Err(self.wrong(at(), problem.unwrap_or_else(none)));
            }
            if !self.keep() {
                return Err(self.wrong(at(), self.prompt.problem().unwrap_or_default()));
            }
            if self.is_complete() {
                break;
            }
        }
        Ok(())
    }

    /// Keeps the prompt of a row; `false` if there is no room for it, as its problem says.
    fn keep(&mut self) -> bool {
        self.prompt.move_to(&mut self.rows, self.set.form(), MAX_KEPT)
    }

    fn too_long(&self, at: String) -> DataSetError {
        self.wrong(at, format!("has {} bytes or more; leave out the columns that are not sent", self.longest))
    }

    fn wrong(&self, at: String, what: String) -> DataSetError {
        DataSetError::Wrong { path: self.set.file.as_path().to_owned(), at, what }
    }

    fn read_error(&self, cause: io::Error) -> DataSetError {
        DataSetError::Read { path: self.set.file.as_path().to_owned(), cause }
    }
}

/// Reads the array of a JSON file row by row. The second field counts the bytes left for the row.
struct Array<'a, 'b>(&'a mut Reader<'b>, &'a Cell<usize>);

impl<'de> Visitor<'de> for Array<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Array(reader, left) = self;
        while list.next_element_seed(RowSeed { column: reader.column, prompt: &mut reader.prompt })?.is_some() {
            // An error is the only way to leave the rest unread.
            if !reader.keep() || reader.is_complete() {
                return Err(A::Error::custom("enough"));
            }
            left.set(reader.longest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
