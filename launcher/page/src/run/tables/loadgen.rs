//! The table of LoadGen's verdicts on each test, rule by rule.

use document::{LoadGenTestDocument, ReportDocument, Section};

use crate::{
    table::Table,
    text::{self, NOTHING},
};

/// The rules, with their names in the report and on the page.
const RULES: [(&str, &str); 4] = [
    ("perfConstraintsMet", "Latency limits"),
    ("minDurationMet", "Least duration"),
    ("minQueriesMet", "Least queries"),
    ("earlyStoppingMet", "Early stopping"),
];

pub(crate) fn loadgen(document: &ReportDocument) -> Option<Table> {
    let loadgen = document.loadgen.as_ref()?;
    let caption = format!(
        "Benchmark {}, round {}, and whether each rule of LoadGen held. LoadGen-compatible: for trial runs, tuning and pre-checks; official \
         results need MLCommons' own build.",
        loadgen.benchmark, loadgen.round
    );
    let trials = loadgen.trials.iter().map(|it| {
        let length = if it.full { "full" } else { "short" };
        let met = if it.met { "met the limits" } else { "did not meet the limits" };
        format!("A {length} trial at {} queries/s {met}.", text::number(it.queries_per_second))
    });
    let reasons = loadgen.tests.iter().flat_map(|test| {
        let warning = test.first_warning.iter().map(|it| format!("a warning in the detail log: {it}"));
        test.reasons.iter().cloned().chain(warning).map(|it| format!("{}: {it}", test.folder))
    });
    Table::of(Section::LoadGen, caption)
        .texts(["Logs in", "Scenario", "Mode", "Result"])
        .texts(RULES.map(|it| it.1))
        .numbers(["Queries", "Target/s", "Samples/s", "Tokens/s", "TTFT p99", "TPOT p99", "Errors"])
        .rows(loadgen.tests.iter().map(row))
        .remarks(reasons.chain(trials))
        .filled()
}

fn row(it: &LoadGenTestDocument) -> Vec<String> {
    let mode = it.mode.name();
    let mut row = vec![
        it.folder.clone(),
        it.scenario.name().to_owned(),
        if it.audited { format!("{mode}, audit") } else { mode.to_owned() },
        it.result.clone(),
    ];
    row.extend(RULES.iter().map(|(rule, _)| match it.rules.get(*rule) {
        Some(true) => "held".to_owned(),
        Some(false) => "not held".to_owned(),
        None => NOTHING.to_owned(),
    }));
    row.extend([
        text::optional(it.queries, text::count),
        text::optional(it.target_qps, text::number),
        text::optional(it.samples_per_second, text::number),
        text::optional(it.tokens_per_second, text::number),
        text::optional(it.ttft_p99_ms, text::time),
        text::optional(it.tpot_p99_ms, text::time),
        text::count(it.errors),
    ]);
    row
}
