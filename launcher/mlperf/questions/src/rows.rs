//! [I/O] Reads the questions of one file. Its content, not its name, determines the format.

use files::{file_digest::FileDigest, user_file};
use std::{
    io::{self, Read as _},
    path::Path,
};

use accuracy::mmlu::{LETTERS, Question};
use serde_json::{Map, Value};
use workload_profiles::workload::Questions;

use super::QuestionsError;
use data_sets::columns::read_columns;

/// Maximum total size of all files in a split, in bytes: three times MMLU's largest split.
pub(super) const MAX_BYTES: u64 = 512 << 20;
/// First bytes of binary formats: Parquet, gzip, zstd, bzip2, xz, zip, pickle. The readers of data sets support these formats.
const MARKS: [&[u8]; 7] = [b"PAR1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zX", b"PK\x03\x04", b"\x80"];
/// Length of the longest of these marks, in bytes.
const LONGEST_MARK: u64 = 4;
/// The columns read from binary files, each with its possible names.
const COLUMNS: [[&str; 2]; 9] = [
    [QUESTION, "Question"],
    [SUBJECT, "Subject"],
    [CHOICES, "Choices"],
    [ANSWER, "Answer"],
    ["A", "a"],
    ["B", "b"],
    ["C", "c"],
    ["D", "d"],
    [WRAPPER, WRAPPER],
];
/// The UTF-8 byte order mark, which some programs write at the start of a text.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// The column that contains all other columns in some Parquet files of Hugging Face.
const WRAPPER: &str = "train";
/// The names of columns in text files, compared in lower case.
const QUESTION: &str = "question";
const SUBJECT: &str = "subject";
const CHOICES: &str = "choices";
const ANSWER: &str = "answer";
/// The subject of questions that name none, such as those for training.
const NO_SUBJECT: &str = "auxiliary_train";
/// Maximum length of a value in a message, in characters.
const MAX_SHOWN: usize = 40;

/// A question with its subject.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) subject: String,
    pub(super) question: Question,
}

/// Appends the questions of a file of at most `most` bytes to `all`. `subject`: used for questions that do not name a subject.
pub(super) fn read(
    path: &Path,
    subject: Option<&str>,
    most: u64,
    all: &mut Vec<Row>,
) -> Result<FileDigest, QuestionsError> {
    let read_error = |cause| QuestionsError::Read { path: path.to_owned(), cause };
    let mut start = Vec::new();
    let file = user_file::open(path).map_err(read_error)?;
    // Only a regular file can be binary. A pipe can be read only once, and Parquet is not read from start to end.
    if file.metadata().is_ok_and(|it| it.is_file()) {
        (&file).take(LONGEST_MARK).read_to_end(&mut start).map_err(read_error)?;
    }
    if MARKS.iter().any(|it| start.starts_with(it)) {
        let wanted: Vec<&[&str]> = COLUMNS.iter().map(|it| &it[..]).collect();
        let read = read_columns(path, &wanted, |row| {
            if all.len() as u64 >= Questions::MOST {
                return Err(format!("is one question too many; at most {} are read", Questions::MOST));
            }
            let values = COLUMNS.iter().zip(row.values.iter_mut());
            let fields = values.filter_map(|(names, value)| Some((names[0].to_owned(), value.take()?.1)));
            all.push(question(Value::Object(fields.collect()), subject)?);
            Ok(())
        })?;
        return Ok(read.file);
    }
    let reader = Reader { path, subject };
    let mut bytes = start;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(read_error)?;
    if bytes.len() as u64 > most {
        let what = format!("the files of a split have more than {} bytes, the most that is read", MAX_BYTES);
        return Err(read_error(io::Error::new(io::ErrorKind::FileTooLarge, what)));
    }
    let text = std::str::from_utf8(bytes.strip_prefix(MARK).unwrap_or(&bytes)).map_err(|error| {
        reader.wrong(format!("byte {}", error.valid_up_to()), "is no UTF-8 text; save it as such".into())
    })?;
    match text.trim_start().bytes().next() {
        None => return Err(QuestionsError::Empty { path: path.to_owned() }),
        Some(b'[') => reader.json(text, all)?,
        Some(b'{') => reader.json_lines(text, all)?,
        Some(_) => reader.csv(text, all)?,
    }
    Ok(FileDigest::from_bytes(path, &bytes))
}

/// Reads the rows of a text file. Its error messages contain the path.
struct Reader<'a> {
    path: &'a Path,
    subject: Option<&'a str>,
}

impl Reader<'_> {
    fn wrong(&self, at: String, what: String) -> QuestionsError {
        QuestionsError::Wrong { path: self.path.to_owned(), at, what }
    }

    /// Reads a JSON array of objects.
    fn json(&self, text: &str, all: &mut Vec<Row>) -> Result<(), QuestionsError> {
        let rows: Vec<Value> = serde_json::from_str(text).map_err(|error| {
            let at = format!("line {} column {}", error.line(), error.column());
            self.wrong(at, "is no JSON array of objects; write one, or an object on each line".to_owned())
        })?;
        rows.into_iter().try_for_each(|row| self.take(row, all))
    }

    /// Reads one JSON object per line.
    fn json_lines(&self, text: &str, all: &mut Vec<Row>) -> Result<(), QuestionsError> {
        for (line, number) in text.lines().zip(1_u64..).filter(|(it, _)| !it.trim().is_empty()) {
            let row = serde_json::from_str(line).map_err(|_| {
                self.wrong(format!("line {number}"), "is no JSON object; write one on each line".to_owned())
            })?;
            self.take_at(row, all, || format!("line {number}"))?;
        }
        Ok(())
    }

    /// Reads CSV: either with a header line, or in the authors' format, which has no header but the columns question, four choices, letter.
    fn csv(&self, text: &str, all: &mut Vec<Row>) -> Result<(), QuestionsError> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut names: Option<Vec<String>> = None;
        for (place, record) in reader.records().enumerate() {
            let record =
                record.map_err(|_| self.wrong(format!("row {place}"), "is no CSV; close its quotes".to_owned()))?;
            let at = || format!("line {}", record.position().map_or(0, csv::Position::line));
            if place == 0 {
                let found: Vec<String> = record.iter().map(|it| it.trim().to_lowercase()).collect();
                if found.iter().any(|it| it == QUESTION) && found.iter().any(|it| it == ANSWER) {
                    names = Some(found);
                    continue;
                }
            }
            let row = match &names {
                Some(names) => {
                    let fields = names.iter().zip(&record).map(|(name, it)| (name.clone(), it.into()));
                    Value::Object(fields.collect())
                }
                None => self.of_authors(&record).ok_or_else(|| {
                    let what = format!(
                        "has {} values; write a question, four choices and a letter, or a first line with the names {SUBJECT}, {QUESTION}, A, B, C, D and {ANSWER}",
                        record.len()
                    );
                    self.wrong(at(), what)
                })?,
            };
            self.take_at(row, all, at)?;
        }
        Ok(())
    }

    fn of_authors(&self, record: &csv::StringRecord) -> Option<Value> {
        if record.len() != LETTERS.len() + 2 {
            return None;
        }
        let mut row = Map::new();
        row.insert(QUESTION.to_owned(), record.get(0)?.into());
        row.insert(CHOICES.to_owned(), record.iter().skip(1).take(LETTERS.len()).collect());
        row.insert(ANSWER.to_owned(), record.get(LETTERS.len() + 1)?.into());
        Some(Value::Object(row))
    }

    fn take(&self, row: Value, all: &mut Vec<Row>) -> Result<(), QuestionsError> {
        let place = all.len();
        self.take_at(row, all, || format!("question {place}, counted from 0"))
    }

    fn take_at(&self, row: Value, all: &mut Vec<Row>, at: impl Fn() -> String) -> Result<(), QuestionsError> {
        all.push(question(row, self.subject).map_err(|what| self.wrong(at(), what))?);
        Ok(())
    }
}

/// Converts a row to a question. The error describes what is wrong, and how to solve it.
fn question(row: Value, subject: Option<&str>) -> Result<Row, String> {
    let Value::Object(mut row) = row else { return Err("is no object; write one for each question".to_owned()) };
    if let Some(Value::Object(inner)) = row.get_mut(WRAPPER) {
        row = std::mem::take(inner);
    }
    let mut fields: Map<String, Value> = row.into_iter().map(|(name, it)| (name.to_lowercase(), it)).collect();
    let text = match fields.remove(QUESTION) {
        Some(Value::String(text)) => text,
        Some(other) => return Err(format!("{QUESTION} is {}; write a text", shown(&other))),
        None => {
            let names = super::listed(fields.keys().map(String::as_str));
            return Err(format!("has no {QUESTION}; it has {names}"));
        }
    };
    let choices = choices(&mut fields)?;
    let answer = fields.get(ANSWER).ok_or_else(|| format!("has no {ANSWER}; write a letter from A to D"))?;
    let answer = answer_index(answer)
        .ok_or_else(|| format!("{ANSWER} is {}; write a number from 0 to 3, or a letter from A to D", shown(answer)))?;
    let own = fields.get(SUBJECT).and_then(Value::as_str).map(str::trim).filter(|it| !it.is_empty());
    let has_column = fields.contains_key(SUBJECT);
    let subject = own.or(subject).or(has_column.then_some(NO_SUBJECT));
    let subject = subject.ok_or_else(|| {
        format!("has no {SUBJECT}; write it into each question, or name the file as MMLU's authors do, anatomy_test.csv, in a folder test")
    })?;
    Ok(Row { subject: subject.to_owned(), question: Question { text, choices, answer } })
}

/// Returns the four choices. They are a list, a list that is written as JSON in a text, or columns named by their letters.
fn choices(fields: &mut Map<String, Value>) -> Result<[String; 4], String> {
    let wanted = "write four texts";
    let list = match fields.remove(CHOICES) {
        Some(Value::String(text)) => {
            serde_json::from_str(&text).map_err(|_| format!("{CHOICES} is a text that is no JSON list; {wanted}"))?
        }
        Some(list) => list,
        None => {
            let letters = LETTERS.map(|it| it.to_ascii_lowercase().to_string());
            letters.iter().filter_map(|it| fields.remove(it)).collect()
        }
    };
    let Value::Array(list) = list else { return Err(format!("{CHOICES} is {}; {wanted}", shown(&list))) };
    let count = list.len();
    let texts: Vec<String> = list.into_iter().filter_map(text_of).collect();
    <[String; 4]>::try_from(texts).map_err(|texts| match (count, texts.len()) {
        (0, _) => format!("has no {CHOICES}, and no A, B, C and D; {wanted}"),
        (4, texts) => format!("{CHOICES} has {texts} texts among its 4 values; {wanted}"),
        (count, _) => format!("{CHOICES} has {count} values; {wanted}"),
    })
}

/// Converts a choice to text. Some files store choices that are numbers as numbers.
fn text_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the index of the correct choice, which can be a number, a number as text, or a letter.
fn answer_index(answer: &Value) -> Option<usize> {
    let whole = |it: f64| LETTERS.iter().enumerate().map(|(at, _)| at).find(|at| *at as f64 == it);
    match answer {
        Value::Number(number) => whole(number.as_f64()?),
        Value::String(text) => {
            let text = text.trim();
            let letter = LETTERS.iter().position(|it| text.len() == 1 && text.eq_ignore_ascii_case(&it.to_string()));
            letter.or_else(|| whole(text.parse().ok()?))
        }
        _ => None,
    }
}

/// Returns a value for a message, cut to the maximum length.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}
