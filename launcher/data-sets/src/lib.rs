//! [I/O] Reads the rows of a data set from a file: JSON, JSON Lines, CSV, Parquet, lines of text, pickles and numpy arrays, with or without
//! compression.
//!
//! JSON arrays, JSON Lines, CSV, text and Parquet are streamed, and only the part of each row that is sent is kept. So a file of hundreds of MB needs
//! no more memory than its prompts. Error messages contain the position of a row and the problem, but never the content of the row. `source` detects
//! the format; `json`, `tree`, `plain`, `parquet` and `python` read the formats; `row` and `conversation` read a row; `chats` renders a row with the
//! model's chat template. `selection` decides which rows are sent, and in which order. `columns` lets other crates read columns of a file by the
//! names in `workload::roles`, and `describe` reports the content of a file.

mod chats;
pub mod columns;
mod compression;
mod conversation;
pub mod describe;
mod error;
mod json;
mod json_text;
mod label;
mod limits;
mod parquet;
mod plain;
mod python;
mod row;
mod selection;
mod sink;
mod source;
mod tree;

use files::{
    file_digest::{DigestReader, FileDigest},
    user_file,
};
use std::{fs::File, io::Read, path::Path, sync::Arc};

use crds::units::Seed;
use jiff::tz::TimeZone;
use workload_profiles::{
    Notice, Workload,
    workload::{
        AcrossStages, ConversationUse, DataSet, DataSetFormat, LengthFilter, Load, OutputLength, PromptColumn,
        RequestSource, RowContent, roles,
    },
};

use chats::Chats;
use compression::Compression;
pub use error::DataSetError;
use limits::{Limits, MAX_BYTES, MAX_KEPT};
use prompts::{Rows, source::ReadRows, token_count::TokenCount, tokenizer_file};
use selection::{Reading, Rules};
use sink::{RowSink as _, Sink};

/// Reads the rows of a workload's data set. Returns no rows if the requests do not come from a data set. `seed` is the seed of the run.
///
/// # Errors
/// The file cannot be read, a row lacks content that is to be sent, or there are too few rows.
pub fn read(workload: &Workload, seed: Seed) -> Result<Rows, DataSetError> {
    let RequestSource::DataSet(set) = &workload.requests else { return Ok(Rows::default()) };
    let read = |set: &DataSet| read_set(set, workload, seed);
    with_any_column(set, read).map(|it| it.0)
}

fn read_set(set: &DataSet, workload: &Workload, seed: Seed) -> Result<Rows, DataSetError> {
    let tokens = token_count(set, workload)?;
    let (chats, _) = chats(set, workload)?.unzip();
    let reading = Reading { tokens: &tokens, chats: chats.as_ref() };
    let rules = rules(set, workload, seed, reading)?;
    let found = match open(set)? {
        Opened::Folder => read_folder(rules, Limits::default())?.0,
        Opened::Parquet(file) => read_parquet(rules, file, Limits::default())?,
        Opened::Stream(file) => read_within(rules, file, Limits::default())?,
    };
    Ok(found.rows)
}

/// Reads a data set. If the profile does not name the prompt column and the column with the default name is missing, another common name is tried and
/// returned.
fn with_any_column<T>(
    set: &DataSet,
    read: impl Fn(&DataSet) -> Result<T, DataSetError>,
) -> Result<(T, Option<String>), DataSetError> {
    let error = match read(set) {
        Ok(found) => return Ok((found, None)),
        Err(error) => error,
    };
    let RowContent::Prompt(prompt) = &set.row else { return Err(error) };
    // A pipe can be read only once, so no second attempt is made.
    let is_wrong = matches!(error, DataSetError::Wrong { .. });
    if !set.any_column || !is_wrong || set.file.as_path().metadata().is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Err(error);
    }
    let names = columns::first_names(set.file.as_path(), set.format);
    let other = roles::prompts(prompt.form).iter().find(|it| names.iter().any(|name| name == *it));
    let Some(name) = other.filter(|it| **it != prompt.name).filter(|_| !names.contains(&prompt.name)) else {
        return Err(error);
    };
    let row = RowContent::Prompt(PromptColumn { name: (*name).to_owned(), form: prompt.form });
    let found = read(&DataSet { row, ..set.clone() })?;
    Ok((found, Some((*name).to_owned())))
}

/// Reads the rows like [`read`], and then the rest of the file to compute the digest of the whole file. If the rest cannot be read, the load is not
/// affected: the file has no digest, and a notice explains why.
///
/// # Errors
/// See [`read`].
pub fn read_with_digest(workload: &Workload, seed: Seed) -> Result<ReadRows, DataSetError> {
    let RequestSource::DataSet(set) = &workload.requests else { return Ok(ReadRows::default()) };
    let read = |set: &DataSet| read_set_with_digest(set, workload, seed);
    let (mut found, column) = with_any_column(set, read)?;
    if let Some(name) = column {
        let message = format!("the prompts come from its column {name}, because the profile names no column");
        found.notices.push(Notice { path: "data set".into(), message: format!("{}: {message}", set.file.shown()) });
    }
    Ok(found)
}

fn read_set_with_digest(set: &DataSet, workload: &Workload, seed: Seed) -> Result<ReadRows, DataSetError> {
    let tokens = token_count(set, workload)?;
    let (chats, template) = chats(set, workload)?.unzip();
    let reading = Reading { tokens: &tokens, chats: chats.as_ref() };
    let rules = rules(set, workload, seed, reading)?;
    let path = set.file.as_path();
    let (found, (digest, reason)) = match open(set)? {
        Opened::Folder => {
            let (found, digest) = read_folder(rules, Limits::default())?;
            (found, (digest, None))
        }
        Opened::Parquet(file) => {
            let found = read_parquet(rules, file, Limits::default())?;
            (found, digest(DigestReader::new(open_file(set)?), path, MAX_BYTES))
        }
        Opened::Stream(file) => {
            // The rest of a pipe is not read, because its writer may never close it.
            let has_end = file.metadata().is_ok_and(|it| it.is_file());
            let mut file = DigestReader::new(file);
            let found = read_within(rules, &mut file, Limits::default())?;
            (found, if has_end { digest(file, path, MAX_BYTES) } else { without(path, "it is a pipe") })
        }
    };
    let mut messages: Vec<String> = reason
        .map(|reason| format!("the file {} has no digest in the report: {reason}", set.file.shown()))
        .into_iter()
        .collect();
    messages.extend(found.left_out);
    messages.extend(found.notices.iter().map(|it| format!("{}: {it}", set.file.shown())));
    if counts_texts(set) && matches!(tokens, TokenCount::Words) {
        messages.push(format!(
            "the lengths of texts in {} are counted in words, because the workload names no tokenizer; a word is often more than one token",
            set.file.shown()
        ));
    }
    let notices = messages.into_iter().map(|message| Notice { path: "data set".into(), message }).collect();
    Ok(ReadRows { rows: found.rows, files: [digest].into_iter().chain(template).collect(), notices })
}

/// The chat template; `None` if rows are not rendered.
fn chats(set: &DataSet, workload: &Workload) -> Result<Option<(Chats, FileDigest)>, DataSetError> {
    let (Some(rendering), Some(tokenizer)) = (&set.chat_template, &workload.tokenizer) else { return Ok(None) };
    let now = clock::now().to_zoned(TimeZone::system()).datetime();
    Ok(Some(Chats::read(rendering, tokenizer.as_path(), now)?))
}

/// The token counter for texts. The tokenizer is read only if a setting depends on the lengths of texts.
fn token_count(set: &DataSet, workload: &Workload) -> Result<TokenCount, DataSetError> {
    match &workload.tokenizer {
        Some(file) if counts_texts(set) => Ok(TokenCount::Tokenizer(Arc::new(tokenizer_file::read(file.as_path())?.0))),
        _ => Ok(TokenCount::Words),
    }
}

/// Whether any setting depends on the lengths of texts.
fn counts_texts(set: &DataSet) -> bool {
    let LengthFilter { min_input, max_input, min_output: _, max_output: _, max_total, min_turns: _ } = set.filter;
    matches!(set.output, OutputLength::TextOf(_) | OutputLength::Answer)
        || min_input.or(max_input).or(max_total).is_some()
}

/// The digest of a file after its rows were read, or the reason why it has no digest.
fn digest(file: DigestReader<impl Read>, path: &Path, most: u64) -> (FileDigest, Option<String>) {
    match file.finish(path, most) {
        Ok(FileDigest { sha256: None, .. }) => without(path, format!("it has more than {most} bytes")),
        Ok(digest) => (digest, None),
        Err(error) => without(path, format!("the rest of the file, which no row needs, cannot be read: {error}")),
    }
}

fn without(path: &Path, reason: impl Into<String>) -> (FileDigest, Option<String>) {
    (FileDigest::unknown(path), Some(reason.into()))
}

/// A data set that exists.
enum Opened {
    /// A folder of arrays, or of files of a data set.
    Folder,
    Parquet(File),
    Stream(File),
}

fn open(set: &DataSet) -> Result<Opened, DataSetError> {
    if set.file.as_path().is_dir() {
        return Ok(Opened::Folder);
    }
    let file = open_file(set)?;
    let is_parquet = set.format == DataSetFormat::Parquet || file.metadata().is_ok_and(|it| it.is_file());
    Ok(if is_parquet && source::is_parquet(&file, Some(set.format)) {
        Opened::Parquet(file)
    } else {
        Opened::Stream(file)
    })
}

fn open_file(set: &DataSet) -> Result<File, DataSetError> {
    user_file::open(set.file.as_path())
        .map_err(|cause| DataSetError::Read { path: set.file.as_path().to_owned(), cause })
}

fn rules<'a>(
    set: &'a DataSet,
    workload: &Workload,
    seed: Seed,
    reading: Reading<'a>,
) -> Result<Rules<'a>, DataSetError> {
    let without_answer = match &set.row {
        RowContent::Prompt(_) => Some("a prompt"),
        RowContent::Conversation { send: ConversationUse::All, .. } => Some("a whole conversation"),
        RowContent::Conversation { .. } => None,
    };
    if let Some(what) = without_answer.filter(|_| set.output == OutputLength::Answer) {
        return Err(DataSetError::NoAnswer { path: set.file.as_path().to_owned(), what });
    }
    let seed = seed.derive("data-set/order");
    let most = set.count.or_else(|| most_sent(set, workload));
    Ok(Rules { set, seed, most, reading, most_bytes: MAX_KEPT })
}

/// Maximum number of rows that a load can send; `None` if this is not known in advance.
fn most_sent(set: &DataSet, workload: &Workload) -> Option<u64> {
    let counts = workload.stages.iter().map(|it| match &it.load {
        Load::Open { .. } | Load::Burst { .. } | Load::Closed { .. } | Load::Trace { .. } => it.load.count(),
        // When a user has finished, the next user starts another conversation. So the number of rows is unknown.
        Load::Users { .. } | Load::LoadGen { .. } => None,
    });
    let counts = counts.collect::<Option<Vec<u64>>>()?;
    match set.across_stages {
        AcrossStages::Restart => counts.into_iter().max(),
        AcrossStages::Continue => counts.into_iter().reduce(u64::saturating_add),
    }
}

/// The rows, and notices about them.
struct Found {
    rows: Rows,
    left_out: Option<String>,
    /// Notices that the content differs from what the profile or the file name suggests.
    notices: Vec<String>,
}

fn read_parquet(rules: Rules<'_>, file: File, limits: Limits) -> Result<Found, DataSetError> {
    let mut sink = Sink::new(Rules { most_bytes: limits.kept, ..rules }, limits.row);
    if !file.metadata().is_ok_and(|it| it.is_file()) {
        let what = "is a pipe, and this format must be read from its end; save it as a file";
        return Err(sink.wrong("as a Parquet file".to_owned(), what.to_owned()));
    }
    if Compression::from_name(&rules.set.file.file_name()).is_some() {
        let what = "is compressed as a whole; decompress it: its columns are compressed already";
        return Err(sink.wrong("as a Parquet file".to_owned(), what.to_owned()));
    }
    let read = parquet::read(&mut sink, file);
    let notices = source::disagreement(Some(rules.set.format), DataSetFormat::Parquet).into_iter().collect();
    finish(rules, sink, read.map(|()| notices))
}

/// Reads a folder.
fn read_folder(rules: Rules<'_>, limits: Limits) -> Result<(Found, FileDigest), DataSetError> {
    let mut sink = Sink::new(Rules { most_bytes: limits.kept, ..rules }, limits.row);
    let source = source::folder(&mut sink, rules.set.file.as_path(), limits)?;
    Ok((finish(rules, sink, Ok(source.notices))?, source.file))
}

/// Reads a file in any format except Parquet.
fn read_within(rules: Rules<'_>, bytes: impl Read, limits: Limits) -> Result<Found, DataSetError> {
    let mut sink = Sink::new(Rules { most_bytes: limits.kept, ..rules }, limits.row);
    let read = source::stream(&mut sink, Some(rules.set.format), &rules.set.file.file_name(), bytes, limits);
    if let Err(error @ DataSetError::TooLong { .. }) = read {
        return Err(error);
    }
    finish(rules, sink, read.map(|it| it.notices))
}

/// Returns the chosen rows, or an error if they are too few.
fn finish(rules: Rules<'_>, sink: Sink<'_>, read: Result<Vec<String>, DataSetError>) -> Result<Found, DataSetError> {
    let set = rules.set;
    let mut notices = Vec::new();
    // An error after the last row that is needed is ignored.
    if sink.is_complete() {
        notices.extend(read.unwrap_or_default());
    } else {
        notices = read?;
        let (found, wanted) = (sink.chosen(), set.count.unwrap_or(1));
        if found < wanted {
            let filtered = if set.filter.is_empty() { "" } else { " that pass the filter" };
            return Err(DataSetError::TooFew { path: set.file.as_path().to_owned(), found, filtered, wanted });
        }
    }
    let left_out = (sink.without_turns() > 0).then(|| {
        let (rows, all) = (sink.without_turns(), sink.offered());
        format!("{rows} of {all} rows of {} hold no conversation that can be sent, and are left out", set.file.shown())
    });
    Ok(Found { rows: sink.into_rows(), left_out, notices })
}

#[cfg(test)]
mod tests;
