//! The section `accuracy`: whether answers are scored.

use std::{collections::BTreeMap, path::PathBuf};

use super::files::file_source;
use crate::{
    problem::{listed, quoted},
    reader::Section,
    workload::{
        Accuracy, AccuracyLimits, BENCHMARK_CHECKS, BOUNDED_FIGURES, PLAIN_CHECKS, bounded_figures, is_benchmark_check,
    },
};

/// Reads the section. `known` is the check if the section names none. Returns `None` if a problem was reported.
pub(in crate::formats) fn read(section: Section, known: Option<&str>) -> Option<Accuracy> {
    let checks: Vec<&str> = BENCHMARK_CHECKS.into_iter().chain(PLAIN_CHECKS).collect();
    if known.is_none() {
        section.require("check", &format!("write one of {}", listed(&checks)));
    }
    let check = match section.value("check") {
        Some(_) => section.text("check").filter(|it| is_benchmark_check(it) || checks.contains(it)),
        None => known,
    };
    if let (Some(found), None) = (section.text("check"), check) {
        section.problem("check", format!("is {}; choose one of {}", quoted(found), listed(&checks)));
    }
    let expected = section.text("expected").map(str::to_owned);
    let (data_set, tokenizer) = (file_source(&section, "dataSet"), file_source(&section, "tokenizer"));
    let punkt = section.text("punkt").map(PathBuf::from);
    let limits = limits(&section, check);
    section.finish();
    Some(Accuracy { check: check?.to_owned(), data_set, expected, tokenizer, punkt, limits: limits?, optional: false })
}

/// Reads `limits`: `ofBenchmark`, `none`, or `{atLeast: {rouge1: 38}}`. `check` is `None` if the check is unknown.
fn limits(section: &Section, check: Option<&str>) -> Option<AccuracyLimits> {
    if section.value("limits").is_none() {
        return Some(AccuracyLimits::OfBenchmark);
    }
    let (name, holder) = section.variant("limits", &["ofBenchmark", "none", "atLeast"])?;
    match (name, holder) {
        ("ofBenchmark", _) => Some(AccuracyLimits::OfBenchmark),
        ("none", _) => Some(AccuracyLimits::None),
        (name, Some(holder)) => at_least(section, holder.section(name)?, check),
        (_, None) => {
            section.problem("limits", "is atLeast without a figure; write {atLeast: {rouge1: 38}}");
            None
        }
    }
}

fn at_least(section: &Section, bounds: Section<'_>, check: Option<&str>) -> Option<AccuracyLimits> {
    let known = check.map_or(BOUNDED_FIGURES.as_slice(), bounded_figures);
    for key in BOUNDED_FIGURES.into_iter().filter(|it| !known.contains(it) && bounds.value(it).is_some()) {
        let check = check.unwrap_or_default();
        bounds.problem(
            key,
            format!("is a figure that the check {check} does not compute; bound one of {}", listed(known)),
        );
    }
    let bound = |key: &'static str| Some((key.to_owned(), bounds.number(key, 0.0..=100.0)?));
    let least: BTreeMap<String, f64> = known.iter().copied().filter_map(bound).collect();
    if bounds.entries().next().is_none() {
        section.problem("limits.atLeast", format!("is empty; bound one of {}", listed(known)));
    }
    bounds.finish();
    (!least.is_empty()).then_some(AccuracyLimits::AtLeast(least))
}
