//! [I/O] Reads multiple-choice questions in the formats in which MMLU is distributed, and selects those to send.
//!
//! `folder` finds the files of a split, `rows` reads a file, and `set` has the questions and writes their prompts. Error messages name the file and
//! the row.

mod error;
mod folder;
mod rows;
mod set;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use accuracy::mmlu::{Categories, Question, domain, shares};
use workload_profiles::{
    Notice, Workload,
    workload::{Domains, Questions, RequestSource, Split},
};

pub use error::QuestionsError;
use error::listed;
use files::file_digest::FileDigest;
use folder::Found;
use prompts::{token_count::TokenCount, tokenizer_file};
use rows::{MAX_BYTES, Row};
pub use set::{Asked, QuestionSet, format};

/// The selected questions, and their source files.
#[derive(Debug, Default)]
pub struct ReadQuestions {
    /// The questions; `None` if the requests have another source.
    pub set: Option<QuestionSet>,
    /// The digest of each file.
    pub files: Vec<FileDigest>,
    /// Notices about subjects that are in no table of domains, and about omitted examples.
    pub notices: Vec<Notice>,
}

/// Reads the questions of a workload. Returns no questions if its requests have another source.
///
/// # Errors
/// A file cannot be read or contains no valid questions, or the selected questions or the required examples are missing.
pub fn read(workload: &Workload) -> Result<ReadQuestions, QuestionsError> {
    let RequestSource::Questions(questions) = &workload.requests else { return Ok(ReadQuestions::default()) };
    let mut files = Vec::new();
    let path = questions.data.as_path();
    let all = rows_of(path, questions.split, "name another split, or another folder", &mut files)?;
    if all.is_empty() {
        return Err(QuestionsError::Empty { path: path.to_owned() });
    }
    let mut notices = Vec::new();
    let chosen = chosen(all, questions)?;
    let mut set = match questions.shots {
        0 => QuestionSet::new(questions, chosen, BTreeMap::new()),
        shots => {
            let examples = examples(questions, shots, &chosen, &mut files)?;
            QuestionSet::new(questions, chosen, examples)
        }
    };
    if let Some(most) = questions.max_prompt_tokens.filter(|_| questions.shots > 0) {
        let tokens = match &workload.tokenizer {
            Some(file) => TokenCount::Tokenizer(Arc::new(tokenizer_file::read(file.as_path())?.0)),
            None => TokenCount::Words,
        };
        let (cut, all) = (set.fit(most, &tokens), set.len());
        notices.extend((cut > 0).then(|| Notice {
            path: "questions".into(),
            message: format!(
                "{cut} of {all} questions have fewer than {} examples, because their prompts would have more than {most} tokens",
                questions.shots
            ),
        }));
    }
    notices.extend(outside_of_table(&set, questions.domains));
    Ok(ReadQuestions { set: Some(set), files, notices })
}

/// Returns the rows of a file, or of a split in a folder, in the order of the files.
fn rows_of(
    path: &Path,
    split: Split,
    remedy: &'static str,
    files: &mut Vec<FileDigest>,
) -> Result<Vec<Row>, QuestionsError> {
    let read_error = |cause| QuestionsError::Read { path: path.to_owned(), cause };
    let is_folder = std::fs::metadata(path).map_err(read_error)?.is_dir();
    let found = if is_folder { folder::find(path, split, remedy)? } else { vec![Found::file(path)] };
    let (mut all, mut left) = (Vec::new(), MAX_BYTES);
    for Found { path: file, subject } in found {
        let digest = rows::read(&file, subject.as_deref(), left, &mut all)?;
        left = left.saturating_sub(digest.bytes.unwrap_or_default());
        files.push(digest);
        if all.len() as u64 > Questions::MOST {
            return Err(QuestionsError::TooMany { path: path.to_owned() });
        }
    }
    Ok(all)
}

/// Returns the selected questions: those of the profile's subjects, up to each subject's share of the limit. They are in the order of the data. Each
/// comes with its position in the data.
fn chosen(all: Vec<Row>, questions: &Questions) -> Result<Vec<(u64, Row)>, QuestionsError> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for row in &all {
        let place = *places.entry(row.subject.clone()).or_insert_with(|| {
            counts.push((row.subject.clone(), 0));
            counts.len() - 1
        });
        counts[place].1 += 1;
    }
    let unknown: Vec<&str> =
        questions.subjects.iter().map(String::as_str).filter(|it| !places.contains_key(*it)).collect();
    if !unknown.is_empty() {
        let known = listed(counts.iter().map(|(name, _)| name.as_str()));
        let (path, unknown) = (questions.data.as_path().to_owned(), listed(unknown));
        return Err(QuestionsError::UnknownSubjects { path, unknown, known });
    }
    let is_wanted = |name: &str| questions.subjects.is_empty() || questions.subjects.iter().any(|it| it == name);
    let available: Vec<usize> = counts.iter().map(|(name, count)| if is_wanted(name) { *count } else { 0 }).collect();
    let limit = questions.total_limit.and_then(|it| usize::try_from(it).ok()).unwrap_or(all.len());
    let mut left = shares(limit, &available);
    let takes = |row: &Row| {
        let Some(left) = places.get(&row.subject).and_then(|it| left.get_mut(*it)) else { return false };
        let takes = *left > 0;
        *left -= usize::from(takes);
        takes
    };
    let mut takes = takes;
    Ok((0_u64..).zip(all).filter(|(_, row)| takes(row)).collect())
}

/// Returns the examples of each selected subject.
fn examples(
    questions: &Questions,
    shots: u32,
    chosen: &[(u64, Row)],
    files: &mut Vec<FileDigest>,
) -> Result<BTreeMap<String, Vec<Question>>, QuestionsError> {
    let path = match &questions.examples {
        Some(examples) => examples.as_path(),
        None if questions.data.as_path().is_dir() => questions.data.as_path(),
        None => return Err(QuestionsError::NoExamples { path: questions.data.as_path().to_owned(), shots }),
    };
    let rows = rows_of(path, Split::Dev, "name a file or a folder with examples, or set shots to 0", files)?;
    let mut examples: BTreeMap<String, Vec<Question>> =
        chosen.iter().map(|(_, row)| (row.subject.clone(), Vec::new())).collect();
    for row in rows {
        if let Some(of_subject) = examples.get_mut(&row.subject).filter(|it| it.len() < shots as usize) {
            of_subject.push(row.question);
        }
    }
    let few: Vec<String> = examples
        .iter()
        .filter(|(_, it)| it.len() < shots as usize)
        .map(|(name, it)| format!("{name} ({})", it.len()))
        .collect();
    if few.is_empty() {
        return Ok(examples);
    }
    let subjects = listed(few.iter().map(String::as_str));
    Err(QuestionsError::TooFewExamples { path: path.to_owned(), shots, subjects })
}

/// Returns a notice that names the subjects without a domain.
fn outside_of_table(set: &QuestionSet, domains: Domains) -> Option<Notice> {
    let categories = categories(domains);
    let outside: Vec<&str> = set.subjects().filter(|it| domain(it, categories).is_none()).collect();
    (!outside.is_empty()).then(|| Notice {
        path: "questions".into(),
        message: format!("{} is in no table of domains, and counts in the domain Other", listed(outside)),
    })
}

/// Converts to the type of the crate `accuracy`.
pub fn categories(domains: Domains) -> Categories {
    match domains {
        Domains::Original => Categories::Original,
        Domains::LmEval => Categories::LmEval,
    }
}
