//! The few figures below the answer. They describe the highest load that meets all objectives, which in a search is its answer. If there is none, they
//! describe the load with the most output tokens per second.

use crds::{benchmark_run::Stat, wording::percent};
use document::{EstimateDocument, FiguresDocument, ReportDocument, StageDocument};
use figures::Figure;
use serde::Serialize;

use super::matrix;
use crate::{
    panels::LoadNames,
    table::cut,
    text::{self, NOTHING},
};

/// A figure with its name and value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Tile {
    name: String,
    value: String,
    /// The text below the value.
    detail: String,
}

/// The tiles of a run; empty if there are no stages.
pub(super) fn tiles(document: &ReportDocument, loads: &LoadNames) -> Vec<Tile> {
    let most = most_output(document);
    let best = matrix::best(document);
    // An earlier search may have confirmed the answer. Then this report has no figures of it, and those of other trials would mislead.
    let is_elsewhere = best.is_none() && document.search.as_ref().is_some_and(|it| it.answer.is_some());
    let Some(shown) = best.or(most).filter(|_| !is_elsewhere) else { return Vec::new() };
    let stage = &document.stages[shown];
    let is_one = document.stages.len() == 1;
    let answer = document.search.as_ref().and_then(|it| Some(it.load_text(it.answer.as_ref()?.load)));
    let place = match &answer {
        Some(load) => format!(" at {load}"),
        None if is_one => String::new(),
        None => format!(" at {}", loads.words(shown)),
    };
    let brackets = |tile: Tile| match document.counts(stage) {
        true => tile,
        false => Tile { value: format!("({})", tile.value), ..tile },
    };
    let mut tiles = vec![latency(stage, &place), output(stage, &place), requests(stage, &place)];
    tiles.extend(goodput(stage, &place));
    if answer.is_some() {
        // The other trials of a search overload the server on purpose. Their errors and rates show nothing about the answer.
        tiles.push(errors(&stage.figures, &place));
    } else if document.figures.failed > 0 || is_one || most == Some(shown) {
        tiles.push(errors(&document.figures, ""));
    }
    if let Some(most) = most.filter(|it| *it != shown && answer.is_none()) {
        tiles.push(output(&document.stages[most], &format!(": most at {}", loads.words(most))));
    }
    tiles.into_iter().map(brackets).collect()
}

/// The index of the stage with the most output tokens per second. Invalid stages are considered only if no stage is valid.
fn most_output(document: &ReportDocument) -> Option<usize> {
    let of = |wanted: bool| {
        let stages = document.stages.iter().enumerate().filter(|(_, it)| document.counts(it) == wanted);
        let output = |it: &StageDocument| it.figures.number(Figure::OutputTokensPerSecond).unwrap_or(0.0);
        stages.max_by(|one, other| output(one.1).total_cmp(&output(other.1))).map(|it| it.0)
    };
    of(true).or_else(|| of(false))
}

fn latency(stage: &StageDocument, place: &str) -> Tile {
    let name = format!("{}{place}", text::heading_of(Figure::Ttft, Stat::P90));
    let Some(values) = stage.figures.statistics(Figure::Ttft) else {
        return Tile { name, value: NOTHING.to_owned(), detail: "not measured".to_owned() };
    };
    let estimate = stage.uncertainty.latencies(Figure::Ttft).and_then(|it| it.get(Stat::P90));
    let answers = text::plural(values.count, "answer");
    let detail = match estimate.and_then(EstimateDocument::interval) {
        Some((low, high)) => format!("{}; {answers}", text::durations(low, high)),
        None => answers,
    };
    Tile { name, value: text::percentile(text::duration(values.p90), 900, values.count), detail }
}

fn output(stage: &StageDocument, place: &str) -> Tile {
    let value = stage.figures.number(Figure::OutputTokensPerSecond);
    let speed = stage.figures.number(Figure::MedianOfInverseTpot);
    Tile {
        name: format!("Output{place}"),
        value: text::optional(value, |it| format!("{}\u{a0}tokens/s", text::three(it))),
        detail: speed.map_or_else(String::new, |it| format!("{} tokens/s for one user", text::three(it))),
    }
}

fn requests(stage: &StageDocument, place: &str) -> Tile {
    let value = stage.figures.number(Figure::RequestsPerSecond);
    let asked = stage.asked_requests_per_second.map(|it| format!("asked {}", text::three(it)));
    let sent = stage.achieved_requests_per_second.map(|it| format!("sent {}", text::three(it)));
    let estimate = stage.uncertainty.estimate(Figure::RequestsPerSecond);
    let interval = estimate.and_then(EstimateDocument::interval).map(|(low, high)| text::interval(low, high));
    let detail: Vec<String> = [interval, asked, sent].into_iter().flatten().collect();
    Tile {
        name: format!("Requests{place}"),
        value: text::optional(value, |it| format!("{}/s", text::three(it))),
        detail: detail.join("; "),
    }
}

/// The goodput; `None` if the profile sets no goodput bounds.
fn goodput(stage: &StageDocument, place: &str) -> Option<Tile> {
    let goodput = stage.figures.goodput.as_ref()?;
    let share = goodput.goodput_share.map(|it| format!("{} of the requests met every goal", percent(it)));
    Some(Tile {
        name: format!("Goodput{place}"),
        value: text::optional(goodput.goodput_requests_per_second, |it| format!("{}/s", text::three(it))),
        detail: share.unwrap_or_default(),
    })
}

fn errors(figures: &FiguresDocument, place: &str) -> Tile {
    let mut detail = format!("{} of {} requests failed", text::count(figures.failed), text::count(figures.decided()));
    for (name, count) in
        [("cancelled", figures.cancelled), ("abandoned", figures.abandoned), ("incomplete", figures.incomplete)]
    {
        if count > 0 {
            detail.push_str(&format!(", {} {name}", text::count(count)));
        }
    }
    Tile {
        name: format!("{}{place}", text::heading(Figure::ErrorRatio)),
        value: text::optional(figures.number(Figure::ErrorRatio), percent),
        detail: cut(&detail),
    }
}
