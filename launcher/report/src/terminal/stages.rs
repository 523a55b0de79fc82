//! The table of stages: the load of each, and the figures that decide.

use crds::{
    Outcome,
    benchmark_run::{MetricUnit, Stat},
    wording::{one_line, percent},
};
use document::{ReportDocument, StageDocument};
use figures::{Figure, text::LARGEST};
use workload_profiles::workload::Load;

use super::WIDTH;
use crate::{
    objectives,
    paint::{Paint, Style},
    profiling,
    text::{NOTHING, millis, number, optional},
    text_table::{Cell, add_row, new_table},
};

/// The percentiles that every table of stages shows, unless objectives need their room.
const USUAL: [(Figure, Stat); 4] =
    [(Figure::Ttft, Stat::P50), (Figure::Ttft, Stat::P99), (Figure::Itl, Stat::P99), (Figure::Latency, Stat::P99)];
/// Maximum number of columns with a statistic. With more, the usual names and figures need more than 80 columns.
const MOST_STATISTICS: usize = 4;

/// One column of figures.
struct Column {
    title: String,
    is_decisive: bool,
    cell: Box<dyn Fn(&StageDocument) -> String>,
}

pub(super) fn table(document: &ReportDocument, paint: Paint) -> String {
    let columns = columns(document);
    let titles = columns.iter().map(|it| it.title.as_str());
    let header: Vec<&str> = ["stage", "load"].into_iter().chain(titles).chain(["failed"]).collect();
    let mut table = new_table(&header);
    for stage in &document.stages {
        let is_valid = is_valid(document, stage);
        let mut cells = vec![Cell::from(load(stage))];
        cells.extend(columns.iter().map(|it| value((it.cell)(stage), it.is_decisive, is_valid)));
        cells.push(failed(stage));
        add_row(&mut table, one_line(&profiling::stage_name(stage)), cells);
    }
    table.painted(WIDTH, paint)
}

/// Whether the figures of a stage count. If no stage is at fault, the whole run decides.
pub(super) fn is_valid(document: &ReportDocument, stage: &StageDocument) -> bool {
    let is_whole = document.outcome == Outcome::Invalid && document.stages.iter().all(|it| it.invalid.is_empty());
    stage.invalid.is_empty() && !is_whole
}

/// Whether the figures of some stage do not count.
pub(super) fn has_invalid(document: &ReportDocument) -> bool {
    document.stages.iter().any(|it| !is_valid(document, it))
}

/// A figure: bold if it decides, in brackets if it is not valid.
pub(super) fn value(text: String, is_decisive: bool, is_valid: bool) -> Cell {
    match (is_valid, is_decisive) {
        _ if text == NOTHING => text.into(),
        (false, _) => Cell::styled(format!("({text})"), Style::Dim),
        (true, true) => Cell::styled(text, Style::Bold),
        (true, false) => text.into(),
    }
}

fn columns(document: &ReportDocument) -> Vec<Column> {
    let bounded = bounded(document);
    let decides = |figure: Figure| match bounded.is_empty() {
        true => figure == Figure::OutputTokensPerSecond,
        false => bounded.iter().any(|it| it.0 == figure),
    };
    let mut columns = vec![rate(Figure::RequestsPerSecond, "req/s", decides(Figure::RequestsPerSecond))];
    columns.extend(statistics(&bounded).into_iter().map(|(figure, stat)| {
        let is_decisive = match bounded.is_empty() {
            true => stat == Stat::P99 && figure != Figure::Latency,
            false => bounded.contains(&(figure, Some(stat))),
        };
        statistic(figure, stat, is_decisive)
    }));
    columns.push(rate(Figure::OutputTokensPerSecond, "output\ntok/s", decides(Figure::OutputTokensPerSecond)));
    if document.stages.iter().any(|it| it.figures.goodput.is_some()) {
        columns.push(share(Figure::GoodputShare, "good\nshare", true));
    }
    columns.extend(cost(document));
    columns
}

/// The figures that objectives bound, with their statistic.
fn bounded(document: &ReportDocument) -> Vec<(Figure, Option<Stat>)> {
    let rows = objectives::rows(document);
    rows.iter().map(|it| (Figure::from_metric(it.objective.metric), it.objective.stat)).collect()
}

/// The statistics to show: first what the objectives bound, then the usual ones, in the order of the catalogue.
fn statistics(bounded: &[(Figure, Option<Stat>)]) -> Vec<(Figure, Stat)> {
    let is_time = |it: &Figure| it.row().metric.is_some_and(|it| it.unit() == MetricUnit::Time);
    let of_objectives = bounded.iter().filter(|it| is_time(&it.0)).filter_map(|it| Some((it.0, it.1?)));
    let mut shown = Vec::new();
    for it in of_objectives.chain(USUAL) {
        if shown.len() < MOST_STATISTICS && !shown.contains(&it) {
            shown.push(it);
        }
    }
    let place = |stat: Stat| Stat::ALL.iter().position(|it| *it == stat);
    shown.sort_by_key(|(figure, stat)| (*figure, place(*stat)));
    shown
}

fn statistic(figure: Figure, stat: Stat, is_decisive: bool) -> Column {
    let cell = move |stage: &StageDocument| {
        optional(stage.figures.statistics(figure), |it| {
            let text = millis(it.get(stat));
            if stat.fewest_values().is_some_and(|least| it.count < least) { text + LARGEST } else { text }
        })
    };
    Column { title: format!("{}\n{}", figure.row().title, stat.name()), is_decisive, cell: Box::new(cell) }
}

fn rate(figure: Figure, title: &str, is_decisive: bool) -> Column {
    let cell = move |stage: &StageDocument| optional(stage.figures.number(figure), number);
    Column { title: title.to_owned(), is_decisive, cell: Box::new(cell) }
}

fn share(figure: Figure, title: &str, is_decisive: bool) -> Column {
    let cell = move |stage: &StageDocument| optional(stage.figures.number(figure), percent);
    Column { title: title.to_owned(), is_decisive, cell: Box::new(cell) }
}

/// The price per million output tokens of each stage, if the price is known.
fn cost(document: &ReportDocument) -> Option<Column> {
    let hardware = document.hardware.clone()?;
    let currency = one_line(hardware.currency.as_ref()?);
    let cell = move |stage: &StageDocument| {
        let found = hardware.stages.iter().find(|it| it.name == stage.name);
        optional(found.and_then(|it| it.figures.cost_per_million_output_tokens), number)
    };
    Some(Column { title: format!("{currency} per\nM output"), is_decisive: false, cell: Box::new(cell) })
}

/// Requests that failed or were cancelled, of all requests.
fn failed(stage: &StageDocument) -> Cell {
    let failed = stage.figures.failed.saturating_add(stage.figures.cancelled);
    let text = format!("{failed} of {}", stage.figures.requests);
    if failed > 0 { Cell::styled(text, Style::Red) } else { text.into() }
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
