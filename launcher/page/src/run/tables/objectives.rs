//! The table of objectives and their results.

use crds::{Met, wording::percent};
use document::{ObjectiveDocument, ReportDocument, Section, answer::TagState};

use crate::{table::Table, text};

pub(crate) fn objectives(document: &ReportDocument) -> Option<Table> {
    let count = |met| document.objectives.iter().filter(|it| it.met == met).count();
    let caption =
        format!("{} met, {} missed, {} undecided.", count(Met::True), count(Met::False), count(Met::Inconclusive));
    let table = Table::of(Section::Objectives, caption)
        .texts(["Objective", "Result", "Figure"])
        .numbers(["Observed", "Limit"])
        .texts(["Why"]);
    table.rows(document.objectives.iter().map(row)).filled()
}

fn row(it: &ObjectiveDocument) -> Vec<String> {
    let show = |value| figure(value, &it.unit);
    let stat = it.stat.map(|it| format!("{} of ", it.name())).unwrap_or_default();
    let place = match it.stage.as_deref() {
        None => String::new(),
        Some("*") => ", in every stage".to_owned(),
        Some(stage) => format!(", in stage {stage}"),
    };
    let observed = match (&it.observed, &it.observed_stage) {
        (Some(value), Some(stage)) => format!("{} ({stage})", show(*value)),
        (Some(value), None) => show(*value),
        (None, _) => text::NOTHING.to_owned(),
    };
    let mut limit = format!("{} {}", it.bound, show(it.limit));
    if let (Some(baseline), Some(of_baseline)) = (it.baseline, it.baseline_limit) {
        limit.push_str(&format!("; baseline {}, limit {}", show(baseline), show(of_baseline)));
    }
    vec![
        it.name.clone(),
        TagState::from(it.met).word().to_owned(),
        format!("{stat}{}{place}", it.metric.name()),
        observed,
        limit,
        it.reason.clone(),
    ]
}

fn figure(value: f64, unit: &str) -> String {
    match unit {
        "ms" => text::time(value),
        "share" => percent(value),
        _ => format!("{}/s", text::number(value)),
    }
}
