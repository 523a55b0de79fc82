//! How good the answers of a run were, as a person reads it. The rows are of one table: in Markdown, on a terminal and on a page.

use analysis::{Accuracy, AccuracyLimit};

/// A file of the scored answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccuracyFile {
    /// The name in the results folder; it may have a folder before it.
    pub name: String,
    /// All of the file.
    pub content: Vec<u8>,
}

/// The columns of [`rows`].
pub const COLUMNS: [&str; 4] = ["accuracy", "value", "limit", "met"];

/// A row for each figure, in their order, and then for each that was not computed.
pub fn rows(accuracy: &Accuracy) -> impl Iterator<Item = Vec<String>> {
    let row = |name: &str, value: &str| {
        let limits: Vec<_> = accuracy.limits_of(name).collect();
        let each =
            |of: &dyn Fn(&AccuracyLimit) -> String| limits.iter().map(|it| of(it)).collect::<Vec<_>>().join(", ");
        let met = each(&|it| it.met().name().to_owned());
        vec![name.to_owned(), value.to_owned(), each(&AccuracyLimit::text), met]
    };
    let computed: Vec<_> = accuracy.figures.iter().map(|it| row(&it.name, &it.text)).collect();
    let missing: Vec<_> = accuracy.not_computed.iter().map(|it| row(&it.figure, "not computed")).collect();
    computed.into_iter().chain(missing)
}

/// What was scored, and the verdict.
pub fn headline(accuracy: &Accuracy) -> String {
    let Accuracy { check, scored, without_answer, wanted, verdict, .. } = accuracy;
    let of = wanted.map(|it| format!(" of {it}")).unwrap_or_default();
    let failed = match without_answer {
        0 => String::new(),
        failed => format!("; {failed} requests have no answer"),
    };
    format!("check {check}: {}; {scored}{of} answers scored{failed}", verdict.name())
}

/// Why there is no verdict, why figures are not computed, and how the others came about.
pub fn notes(accuracy: &Accuracy) -> Vec<String> {
    let undecided = accuracy.reasons.iter().map(|it| format!("no verdict: {it}"));
    let missing = accuracy.not_computed.iter().map(|it| format!("{} is not computed: {}", it.figure, it.reason));
    undecided.chain(missing).chain(accuracy.method.iter().cloned()).collect()
}
