//! Checks that hold for any text as a profile of any harness. Tests call them with profiles that are cut, changed or mistyped. A failed check panics,
//! because only tests use this module.

use crds::benchmark_run::Harness;

use super::target::Target;
use crate::{parse_text, workload::Workload, yaml};

/// Maximum problems per error.
const MAX_PROBLEMS: usize = 2_000;
/// Maximum length of an error's message, in bytes.
const MAX_MESSAGE: usize = 1 << 20;

/// Values that a flag or a key can contain by mistake.
pub(in crate::formats) const VALUES: [&str; 18] = [
    "none",
    "",
    "-1",
    "0",
    "1e300",
    "18446744073709551616",
    "nan",
    "[]",
    "{}",
    "[[1]]",
    "{a: {b: 1}}",
    "true",
    "~",
    "x y z",
    "'{'",
    "',,'",
    "'({)'",
    "4.9e-324",
];

/// Checks that a text is either refused, with a bounded error in which each problem has a path, or becomes a bounded workload. Our own format must
/// read that workload back from a report.
pub(in crate::formats) fn check(harness: Harness, text: &str) {
    match parse_text(harness, Target::default(), text) {
        Ok((workload, notices)) => {
            assert!(workload.stages.len() <= 1_000 && notices.len() < 10_000, "{text}");
            check_round_trip(&workload);
        }
        Err(error) => {
            assert!((1..=MAX_PROBLEMS).contains(&error.problems.len()), "{text}");
            assert!(error.problems.iter().all(|it| !it.path.is_empty() && !it.message.is_empty()), "{text}\n{error}");
            assert!(error.to_string().len() < MAX_MESSAGE, "{text}");
        }
    }
}

/// Checks that our own format reads a workload back from a report unchanged.
pub(in crate::formats) fn check_round_trip(workload: &Workload) {
    let text = yaml::write(&serde_json::to_value(workload).expect("a workload can be written as JSON"));
    let read = parse_text(Harness::Benchwright, Target::default(), &text);
    assert_eq!(read.map(|it| it.0).as_ref(), Ok(workload), "{text}");
}

/// Returns the first part of a text. `share` is the fraction to keep, 0 to 1.
pub(in crate::formats) fn cut(text: &str, share: f64) -> &str {
    &text[..text.floor_char_boundary((text.len() as f64 * share) as usize)]
}

/// Replaces one character of a text with `letters`. `share` is the position of the character, as a fraction of the text's length.
pub(in crate::formats) fn changed(text: &str, share: f64, letters: &str) -> String {
    let before = cut(text, share);
    let rest = text[before.len()..].chars().next().map_or("", |it| &text[before.len() + it.len_utf8()..]);
    format!("{before}{letters}{rest}")
}
