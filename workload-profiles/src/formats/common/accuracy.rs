//! The section `accuracy`: whether answers are scored.

use std::{collections::BTreeMap, path::PathBuf};

use super::files::file_source;
use crate::{
    problem::listed,
    reader::Section,
    workload::{Accuracy, AccuracyLimits, BENCHMARK_CHECKS, BOUNDED_FIGURES, PLAIN_CHECKS},
};

/// Reads the section. `known`: the check where the section names none. `None` goes with a problem.
pub(in crate::formats) fn read(section: Section, known: Option<&str>) -> Option<Accuracy> {
    let checks: Vec<&str> = BENCHMARK_CHECKS.into_iter().chain(PLAIN_CHECKS).collect();
    if known.is_none() {
        section.require("check", &format!("write one of {}", listed(&checks)));
    }
    let choices: Vec<(&str, &str)> = checks.iter().map(|it| (*it, *it)).collect();
    let check = match section.value("check") {
        Some(_) => section.choice("check", &choices),
        None => known,
    };
    let expected = section.text("expected").map(str::to_owned);
    let (data_set, tokenizer) = (file_source(&section, "dataSet"), file_source(&section, "tokenizer"));
    let punkt = section.text("punkt").map(PathBuf::from);
    let limits = limits(&section);
    section.finish();
    Some(Accuracy { check: check?.to_owned(), data_set, expected, tokenizer, punkt, limits: limits?, optional: false })
}

/// `ofBenchmark`, `none`, or `{atLeast: {rouge1: 38}}`.
fn limits(section: &Section) -> Option<AccuracyLimits> {
    if section.value("limits").is_none() {
        return Some(AccuracyLimits::OfBenchmark);
    }
    let (name, holder) = section.variant("limits", &["ofBenchmark", "none", "atLeast"])?;
    match (name, holder) {
        ("ofBenchmark", _) => Some(AccuracyLimits::OfBenchmark),
        ("none", _) => Some(AccuracyLimits::None),
        (name, Some(holder)) => at_least(section, holder.section(name)?),
        (_, None) => {
            section.problem("limits", "is atLeast without a figure; write {atLeast: {rouge1: 38}}");
            None
        }
    }
}

fn at_least(section: &Section, bounds: Section<'_>) -> Option<AccuracyLimits> {
    let bound = |key: &'static str| Some((key.to_owned(), bounds.number(key, 0.0..=100.0)?));
    let least: BTreeMap<String, f64> = BOUNDED_FIGURES.into_iter().filter_map(bound).collect();
    if bounds.entries().next().is_none() {
        section.problem("limits.atLeast", format!("is empty; bound one of {}", listed(&BOUNDED_FIGURES)));
    }
    bounds.finish();
    (!least.is_empty()).then_some(AccuracyLimits::AtLeast(least))
}

/// The check of a LoadGen benchmark by the name that a profile gives it; `None`: it has none here.
pub(in crate::formats) fn check_of_benchmark(name: &str) -> Option<&'static str> {
    let plain = name.trim().to_lowercase().replace("llama3_1", "llama3.1").replace("-interactive", "");
    let plain = if plain == "llama2-70b" { "llama2-70b-99".to_owned() } else { plain };
    let shares = ["", "-99", "-99.9"].map(|share| plain.strip_suffix(share).filter(|_| !share.is_empty()));
    BENCHMARK_CHECKS
        .into_iter()
        .find(|it| *it == plain)
        .or_else(|| shares.into_iter().flatten().find_map(|base| BENCHMARK_CHECKS.into_iter().find(|it| *it == base)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loadgens_names_have_their_checks() {
        for (name, expected) in [
            ("llama3_1-8b", Some("llama3.1-8b")),
            ("llama3.1-8b-edge", Some("llama3.1-8b-edge")),
            ("Llama3.1-8B-99", Some("llama3.1-8b")),
            ("llama3_1-405b-interactive", Some("llama3.1-405b")),
            ("llama2-70b", Some("llama2-70b-99")),
            ("llama2-70b-99.9", Some("llama2-70b-99.9")),
            ("llama2-70b-interactive", Some("llama2-70b-99")),
            ("whisper", None),
        ] {
            assert_eq!(check_of_benchmark(name), expected, "{name}");
        }
    }
}
