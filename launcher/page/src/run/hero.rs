//! The main chart of the page: latency over load for a sweep, the objectives over load for a search, and latency over time for a single load.

use ::charts::Size;
use document::ReportDocument;
use serde::Serialize;

use crate::{
    frame,
    panels::{LoadNames, Panel},
};

/// One of the charts between which a reader can switch.
#[derive(Serialize)]
pub(super) struct Pick {
    /// The id of its figure.
    #[serde(skip)]
    pub(super) id: String,
    name: String,
    /// The figure as markup.
    figure: String,
}

const SIZE: Size = Size { width: 400.0, height: 230.0 };
const BY_LOAD: [&str; 3] = ["load-ttft", "load-tpot", "load-latency"];
const OVER_TIME: [&str; 2] = ["time-ttft", "time-latency"];
const OF_SEARCH: [&str; 1] = ["search-objectives"];

/// The charts between which a reader can switch; none if no figures of the run are valid.
pub(super) fn picks(document: &ReportDocument, loads: &LoadNames, panels: &[Panel]) -> Vec<Pick> {
    if !document.any_counts() {
        return Vec::new();
    }
    let wanted: &[&str] = match document.search {
        Some(_) => &OF_SEARCH,
        None if loads.is_sweep => &BY_LOAD,
        None => &OVER_TIME,
    };
    let all = || panels.iter().filter_map(|it| it.content.as_ref().ok()).flatten();
    let found = wanted.iter().filter_map(|id| all().find(|it| it.id == *id));
    found.map(|it| Pick { id: it.id.clone(), name: it.y.label.clone(), figure: frame::figure(it, SIZE) }).collect()
}
