//! The small charts of a page: charts over the load, charts over time, and charts in folded sections.

use ::charts::{Figure, Shape, Size};
use document::ReportDocument;
use serde::Serialize;

use super::{fold::Fold, hero::Pick};
use crate::{frame, panels::Panel, table::cut};

/// Ids of charts over the load, in order of importance. Charts in no such list are folded.
const BY_LOAD: [&str; 7] =
    ["load-output", "load-speed", "load-throughput", "interactivity", "load-itl", "load-kv-cache", "cost"];
const OVER_TIME: [&str; 5] = ["search-trials", "time-ttft", "time-latency", "concurrency", "tokens"];
/// Ids of the panels over the load; all other panels are over time.
const PANELS_BY_LOAD: [&str; 4] = ["interactivity", "load", "distributions", "cost"];

const SMALL: Size = Size { width: 240.0, height: 110.0 };
const WIDE: Size = Size { width: 300.0, height: 110.0 };
const FOLDED: Size = Size { width: 300.0, height: 170.0 };

/// The reason why an invalid run has no charts over the load.
const NOT_DRAWN: &str = "The measurement is not valid: its figures are not drawn.";

/// The charts of a page.
#[derive(Default, Serialize)]
pub(super) struct Charts {
    /// Charts over the load, as markup.
    pub(super) by_load: Vec<String>,
    pub(super) more_by_load: Vec<Fold>,
    /// Charts over time, as markup.
    pub(super) over_time: Vec<String>,
    pub(super) more_over_time: Vec<Fold>,
    /// Charts without data, and why.
    pub(super) absent: Vec<Absent>,
}

#[derive(Serialize)]
pub(super) struct Absent {
    name: String,
    why: String,
}

impl Charts {
    pub(super) fn new(document: &ReportDocument, panels: Vec<Panel>, hero: &[Pick]) -> Charts {
        let mut charts = Charts::default();
        let counts = document.any_counts();
        let is_sweep = document.stages.len() > 1;
        let (mut loads, mut times) = (Vec::new(), Vec::new());
        if counts && !is_sweep {
            charts.lacks("Charts by load", "the run has one load");
        }
        for Panel { id, title, question, content } in panels {
            let figures = match content {
                Ok(figures) => figures,
                Err(why) => {
                    charts.lacks(title, &why);
                    continue;
                }
            };
            let by_load = PANELS_BY_LOAD.contains(&id);
            if by_load && !counts {
                charts.lacks(title, NOT_DRAWN);
                continue;
            }
            let mut folded = Vec::new();
            for figure in figures.into_iter().filter(|figure| hero.iter().all(|it| it.id != figure.id)) {
                match &figure {
                    it if is_zero(it) => charts.lacks(&it.title, "0 throughout"),
                    _ if by_load && !is_sweep && id != "distributions" && id != "cost" => {}
                    it if counts && BY_LOAD.contains(&it.id.as_str()) => loads.push(placed(&BY_LOAD, it, SMALL)),
                    it if counts && OVER_TIME.contains(&it.id.as_str()) => times.push(placed(&OVER_TIME, it, WIDE)),
                    it => folded.push(frame::figure(it, FOLDED)),
                }
            }
            if !folded.is_empty() {
                let fold = Fold { id, title: title.to_owned(), question, figures: folded, ..Fold::default() };
                if by_load { &mut charts.more_by_load } else { &mut charts.more_over_time }.push(fold);
            }
        }
        charts.by_load = in_order(loads);
        charts.over_time = in_order(times);
        charts
    }

    /// Records that a chart has no data. Charts with the same reason share a line.
    fn lacks(&mut self, name: &str, why: &str) {
        match self.absent.iter_mut().find(|it| it.why == why) {
            Some(same) => same.name = format!("{}, {name}", same.name),
            None => self.absent.push(Absent { name: name.to_owned(), why: cut(why) }),
        }
    }
}

/// A chart as markup, with its position in the list.
fn placed(list: &[&str], figure: &Figure, size: Size) -> (usize, String) {
    (list.iter().position(|it| *it == figure.id).unwrap_or(list.len()), frame::figure(figure, size))
}

fn in_order(mut charts: Vec<(usize, String)>) -> Vec<String> {
    charts.sort_by_key(|it| it.0);
    charts.into_iter().map(|it| it.1).collect()
}

/// Whether a chart would only show the value 0.
fn is_zero(figure: &Figure) -> bool {
    let all_zero = |shape: &Shape| match shape {
        Shape::Line(places) | Shape::Steps(places) => places.iter().all(|it| it.y.is_none_or(|it| it == 0.0)),
        Shape::Bars(bars) => bars.iter().all(|it| it.value == 0.0),
        Shape::Points { points, .. } => points.iter().all(|it| it.y == 0.0),
        Shape::Band(_) | Shape::Heat(_) | Shape::Requests(_) => false,
    };
    figure.series.iter().all(|it| all_zero(&it.shape))
}
