//! The trials of a search: how close each objective is to its limit at each load, and which loads were tried when.

use charts::{Axis, Figure, MarkAt, Place, Point, Scale, Series, Shade, Shape, Tone};
use crds::benchmark_run::SearchOver;
use document::{
    ReportDocument,
    search::{Role, SearchResult, SearchTrial, TrialResult},
};

use super::{
    Content,
    plot::{figure, line, logarithmic, mark, quantity, series},
};
use crate::text;

pub(super) fn content(document: &ReportDocument) -> Content {
    let Some(search) = &document.search else {
        return Err("The run is no search.".to_owned());
    };
    let objectives = objectives(search);
    if objectives.series.is_empty() {
        return Err("The run was stopped before a trial was judged.".to_owned());
    }
    Ok(vec![objectives, trials(search)])
}

/// The axis of the load.
fn load_axis(search: &SearchResult) -> Axis {
    match search.over {
        SearchOver::Rate => logarithmic("Offered load", "requests/s"),
        SearchOver::Concurrency => logarithmic("Users", ""),
    }
}

/// The trials that show something about the server.
fn judged(search: &SearchResult) -> impl Iterator<Item = &SearchTrial> {
    search.trials.iter().filter(|it| it.role != Role::WarmUp && it.verdict != TrialResult::ClientLimited)
}

fn objectives(search: &SearchResult) -> Figure {
    let caption = "Each objective in each trial: its value / its limit, or the share of misses / the allowed share (0 is below the axis). Filled points \
                   are confirmations. The shaded range is the estimate of the capacity, which the risk of the answer does not cover.";
    let y = logarithmic("Value / limit", "");
    let mut figure = figure("search-objectives", "Objectives by load", caption, load_axis(search), y);
    let mut names: Vec<&str> = Vec::new();
    for objective in judged(search).flat_map(|it| &it.objectives) {
        if !names.contains(&objective.name.as_str()) {
            names.push(&objective.name);
        }
    }
    for (index, name) in names.into_iter().enumerate() {
        let of = |confirms: bool| of_objective(search, name, confirms);
        for (tone, points) in [(Tone::Provisional(index), of(false)), (Tone::Category(index), of(true))] {
            if !points.is_empty() {
                figure.series.push(series(name, tone, Shape::Points { points, joined: false }));
            }
        }
    }
    figure.marks.push(mark(MarkAt::Limit(1.0), "limit"));
    if let Some(answer) = &search.answer {
        figure.finding = search.load_text(answer.load);
        figure.marks.push(mark(MarkAt::X(answer.load), format!("answer {}", search.load_text(answer.load))));
    }
    if let Some(edge) = search.edge {
        figure.shades.push(Shade { from: edge.low, to: edge.high, label: "capacity".to_owned(), tone: Tone::Quiet });
    }
    figure
}

/// The points of an objective in confirming or in other trials.
fn of_objective(search: &SearchResult, name: &str, confirms: bool) -> Vec<Point> {
    let trials = judged(search).filter(|it| (it.role == Role::Confirm) == confirms);
    let point = |trial: &SearchTrial| {
        let found = trial.objectives.iter().find(|it| it.name == name)?;
        let ratio = found.ratio().filter(|it| *it > 0.0)?;
        let note = format!("{}: {name} at {} of its limit", search.load_text(trial.load), text::three(ratio));
        Some(Point { x: trial.load, y: ratio, note, ..Point::default() })
    };
    trials.filter_map(point).collect()
}

/// The verdicts of trials, as the names and tones of their points.
const VERDICTS: [(&str, Tone); 3] = [("holds", Tone::Good), ("fails", Tone::Bad), ("undecided", Tone::Doubt)];

fn verdict(trial: &SearchTrial) -> Option<&'static str> {
    match (trial.role, trial.verdict) {
        (Role::WarmUp, _) | (_, TrialResult::ClientLimited) => None,
        (_, TrialResult::Passed) => Some("holds"),
        (_, TrialResult::Failed) => Some("fails"),
        (_, TrialResult::Undecided) => Some("undecided"),
    }
}

fn trials(search: &SearchResult) -> Figure {
    let load = load_axis(search);
    let caption = "The load of each trial over time. Each sign is at the end of its trial. A trial from above begins with an overload, which is not \
                   shown.";
    let time = Axis { scale: Scale::Linear, ..quantity("Time since the start of the search", "s") };
    let mut figure = figure("search-trials", "Load of the trials", caption, time, load);
    let mut at = 0.0;
    let mut places = Vec::new();
    let mut ends: Vec<(&SearchTrial, f64)> = Vec::new();
    for trial in &search.trials {
        places.push(Place { x: at, y: Some(trial.load) });
        at += trial.seconds;
        places.push(Place { x: at, y: Some(trial.load) });
        ends.push((trial, at));
    }
    figure.series.push(line("load", Tone::Main, places));
    figure.series.extend(VERDICTS.iter().filter_map(|(name, tone)| signs(search, &ends, name, *tone)));
    if let Some(answer) = &search.answer {
        figure.marks.push(mark(MarkAt::Y(answer.load), "answer"));
    }
    figure.finding = format!("{} trials", search.trials.len());
    figure
}

/// The points of the trials with this verdict; `None` if there are none.
fn signs(search: &SearchResult, ends: &[(&SearchTrial, f64)], name: &str, tone: Tone) -> Option<Series> {
    let of = ends.iter().filter(|it| verdict(it.0) == Some(name));
    let points: Vec<Point> = of
        .map(|(trial, at)| Point {
            x: *at,
            y: trial.load,
            note: format!("{}: {name}", search.load_text(trial.load)),
            ..Point::default()
        })
        .collect();
    (!points.is_empty()).then(|| series(name, tone, Shape::Points { points, joined: false }))
}
