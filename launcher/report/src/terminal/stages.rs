//! The table of stages: the load of each stage, and its most important figures.

use crds::{
    Met, ObjectiveCounts,
    benchmark_run::{MetricUnit, Stat},
    wording::{one_line, percent},
};
use document::{HardwareDocument, ObjectiveDocument, ReportDocument, StageDocument, answer::TagState};
use figures::{Figure, text::LARGEST};
use workload_profiles::workload::Load;

use super::{lines::WIDTH, objectives};
use crate::{
    paint::{Paint, Style},
    profiling,
    text::{NOTHING, millis, number, optional},
    text_table::{Cell, add_row, new_table},
};

/// The percentiles that every table of stages shows, unless the columns are needed for objectives.
const USUAL: [(Figure, Stat); 4] =
    [(Figure::Ttft, Stat::P50), (Figure::Ttft, Stat::P99), (Figure::Itl, Stat::P99), (Figure::Latency, Stat::P99)];
/// Maximum number of columns with a statistic. With more columns, a table with typical names and figures would be wider than 80 characters.
const MOST_STATISTICS: usize = 4;

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown {
    figure: Figure,
    /// The statistic; `None` if the figure has only one value.
    stat: Option<Stat>,
}

pub(super) fn table(document: &ReportDocument, paint: Paint) -> String {
    let shown = columns(document);
    let cost = document.hardware.as_ref().filter(|it| it.currency.is_some());
    let titles = shown.iter().map(|it| it.title()).chain(cost.map(cost_title)).chain(["failed".to_owned()]);
    let titles: Vec<String> = ["stage", "load"].map(str::to_owned).into_iter().chain(titles).collect();
    let mut table = new_table(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for stage in &document.stages {
        let is_valid = document.counts(stage);
        let mut cells = vec![Cell::from(load(stage))];
        cells.extend(shown.iter().map(|it| it.judged(document, stage, is_valid)));
        cells.extend(cost.map(|it| value(cost_of(it, stage), false, is_valid)));
        cells.push(failed(stage));
        add_row(&mut table, one_line(&profiling::stage_name(stage)), cells);
    }
    table.painted(WIDTH, paint)
}

/// A value as a cell. It is bold if it is decisive: an objective limits it or, without objectives, users usually compare it first. It is in brackets
/// if it is not valid.
pub(super) fn value(text: String, is_decisive: bool, is_valid: bool) -> Cell {
    match (is_valid, is_decisive) {
        _ if text == NOTHING => text.into(),
        (false, _) => Cell::styled(&format!("({text})"), Style::Dim),
        (true, true) => Cell::styled(&text, Style::Bold),
        (true, false) => text.into(),
    }
}

impl Shown {
    fn title(self) -> String {
        match (self.figure, self.stat) {
            (_, Some(stat)) => format!("{}\n{}", self.figure.row().title, stat.name()),
            (Figure::OutputTokensPerSecond, None) => "output\ntok/s".to_owned(),
            (Figure::GoodputShare, None) => "good\nshare".to_owned(),
            (_, None) => "req/s".to_owned(),
        }
    }

    fn text(self, stage: &StageDocument) -> String {
        let all = &stage.figures;
        match self.stat {
            Some(stat) => optional(all.statistics(self.figure), |it| {
                let is_largest = stat.fewest_values().is_some_and(|least| it.count < least);
                millis(it.get(stat)) + if is_largest { LARGEST } else { "" }
            }),
            None if self.figure == Figure::GoodputShare => optional(all.number(self.figure), percent),
            None => optional(all.number(self.figure), number),
        }
    }

    /// The value for a stage. If its objective is missed or undecided, the value has a sign.
    fn judged(self, document: &ReportDocument, stage: &StageDocument, is_valid: bool) -> Cell {
        let text = self.text(stage);
        match self.met(document, stage).filter(|_| is_valid && text != NOTHING) {
            None => value(text, self.is_decisive(document), is_valid),
            Some(Met::True) => value(text, true, is_valid),
            Some(met) => Cell::styled(&format!("{} {text}", TagState::from(met).sign()), objectives::style(met)),
        }
    }

    /// Whether a stage meets all objectives on this figure; `None` if no objective on it covers the stage.
    fn met(self, document: &ReportDocument, stage: &StageDocument) -> Option<Met> {
        let met = document.objectives.iter().filter(|it| Shown::of(it) == self);
        let met: Vec<Met> = met.filter_map(|it| Some(it.in_stage(&stage.name)?.met)).collect();
        (!met.is_empty()).then(|| ObjectiveCounts::count(met).all())
    }

    /// Whether the figure is decisive: an objective limits it or, without objectives, it is one that users usually compare first.
    fn is_decisive(self, document: &ReportDocument) -> bool {
        let usual =
            [(Figure::Ttft, Some(Stat::P99)), (Figure::Itl, Some(Stat::P99)), (Figure::OutputTokensPerSecond, None)];
        match document.objectives.is_empty() {
            true => usual.contains(&(self.figure, self.stat)),
            false => document.objectives.iter().any(|it| Shown::of(it) == self),
        }
    }

    fn of(objective: &ObjectiveDocument) -> Shown {
        Shown { figure: Figure::from_metric(objective.metric), stat: objective.stat }
    }
}

fn columns(document: &ReportDocument) -> Vec<Shown> {
    let number = |figure| Shown { figure, stat: None };
    let goodput = document.stages.iter().any(|it| it.figures.goodput.is_some());
    std::iter::once(number(Figure::RequestsPerSecond))
        .chain(statistics(document))
        .chain([number(Figure::OutputTokensPerSecond)])
        .chain(goodput.then(|| number(Figure::GoodputShare)))
        .collect()
}

/// The statistics to show: first those with an objective, then the usual ones. Sorted in the order of the catalogue.
fn statistics(document: &ReportDocument) -> Vec<Shown> {
    let times = document.objectives.iter().filter(|it| it.metric.unit() == MetricUnit::Time).map(Shown::of);
    let mut shown: Vec<Shown> = Vec::new();
    for it in times.chain(USUAL.map(|(figure, stat)| Shown { figure, stat: Some(stat) })) {
        if shown.len() < MOST_STATISTICS && !shown.contains(&it) {
            shown.push(it);
        }
    }
    shown.sort_by_key(|it| (it.figure, Stat::ALL.iter().position(|stat| it.stat == Some(*stat))));
    shown
}

fn cost_title(hardware: &HardwareDocument) -> String {
    format!("{} per\nM output", one_line(hardware.currency.as_deref().unwrap_or_default()))
}

/// The price of a million output tokens in a stage, as text.
fn cost_of(hardware: &HardwareDocument, stage: &StageDocument) -> String {
    let found = hardware.stages.iter().find(|it| it.name == stage.name);
    optional(found.and_then(|it| it.figures.cost_per_million_output_tokens), number)
}

/// (Number of requests that failed or were cancelled, number of all requests).
fn failed(stage: &StageDocument) -> Cell {
    let failed = stage.figures.failed.saturating_add(stage.figures.cancelled);
    let text = format!("{failed} of {}", stage.figures.requests);
    if failed > 0 { Cell::styled(&text, Style::Red) } else { text.into() }
}

/// The load in one or two words.
fn load(stage: &StageDocument) -> String {
    match (&stage.load, stage.asked_requests_per_second) {
        (Load::Closed { concurrency: 1, .. }, _) | (Load::Users { users: 1, .. }, _) => "1 user".to_owned(),
        (Load::Closed { concurrency: users, .. } | Load::Users { users, .. }, _) => format!("{users} users"),
        (_, Some(rate)) => format!("{}/s", number(rate)),
        (Load::Burst { count, .. }, _) => format!("burst of {count}"),
        (Load::Trace { .. }, _) => "trace".to_owned(),
        (Load::LoadGen { scenario, .. }, _) => scenario.name().to_owned(),
        (Load::Open { .. }, _) => "varying".to_owned(),
    }
}
