//! Presents how good the answers of a run were. The rows form one table that Markdown, the terminal and the page share.

use analysis::{Accuracy, AccuracyLimit};

/// A file with scored answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccuracyFile {
    /// The file name in the results folder; it can include a subfolder.
    pub name: String,
    /// The content of the file.
    pub content: Vec<u8>,
}

/// The columns of [`rows`].
pub const COLUMNS: [&str; 4] = ["accuracy", "value", "limit", "result"];

/// One row for each limit of a figure, and one row for a figure without limits. Then one row for each figure that was not computed.
pub fn rows(accuracy: &Accuracy) -> impl Iterator<Item = Vec<String>> {
    let rows = |name: &str, value: &str| -> Vec<Vec<String>> {
        let row = |limit: String, met: &str| vec![name.to_owned(), value.to_owned(), limit, met.to_owned()];
        let limits: Vec<_> = accuracy.limits_of(name).map(|it| row(it.text(), met(it))).collect();
        if limits.is_empty() { vec![row(String::new(), "")] } else { limits }
    };
    let computed: Vec<_> = accuracy.figures.iter().map(|it| rows(&it.name, &it.text)).collect();
    let missing: Vec<_> = accuracy.not_computed.iter().map(|it| rows(&it.figure, "not computed")).collect();
    computed.into_iter().chain(missing).flatten()
}

/// Whether a limit is met, as text.
pub fn met(limit: &AccuracyLimit) -> &'static str {
    match limit.met {
        Some(true) => "met",
        Some(false) => "missed",
        None => "not judged",
    }
}

/// What was scored, and the verdict, as a sentence.
pub fn headline(accuracy: &Accuracy) -> String {
    let Accuracy { check, scored, without_answer, wanted, verdict, .. } = accuracy;
    let of = wanted.map(|it| format!(" of {it}")).unwrap_or_default();
    let failed = match without_answer {
        0 => String::new(),
        failed => format!("; {failed} requests got no answer"),
    };
    format!("check {check}: {}; {scored}{of} answers scored{failed}", verdict.name())
}

/// The reason why there is no verdict, why figures were not computed, and how the other figures were computed.
pub fn notes(accuracy: &Accuracy) -> Vec<String> {
    let undecided = accuracy.reasons.iter().map(|it| format!("no verdict: {it}"));
    let doubts = accuracy.doubts.iter().filter(|it| !accuracy.reasons.contains(it));
    let doubts = doubts.map(|it| format!("the scores may not describe the model: {it}"));
    let missing = accuracy.not_computed.iter().map(|it| format!("{} is not computed: {}", it.figure, it.reason));
    undecided.chain(doubts).chain(missing).chain(accuracy.method.iter().cloned()).collect()
}
