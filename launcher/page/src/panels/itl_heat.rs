//! How often each ITL occurred over time.

use charts::{Heat, Shape, Tone};
use document::ReportDocument;

use super::{
    Content,
    bins::{Bins, of_run},
    plot::{figure, logarithmic, series, time},
    stage_times,
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let of_time = of_run(document)?;
    let Some(heat) = &of_time.itl_heat else {
        return Err(match of_time.itl_ms {
            None => "The run has no ITL: it needs streamed answers of two events or more.",
            Some(_) => "The report has no counts of ITL over time: an older release wrote it.",
        }
        .to_owned());
    };
    let bins = Bins::from_series(of_time);
    let per_column = usize::try_from(heat.bins_per_column).unwrap_or(1).max(1);
    let heat = Heat {
        // The last column can have fewer bins.
        x_edges: (0..=heat.counts.len()).map(|it| bins.begin((it * per_column).min(of_time.due.0.len()))).collect(),
        y_edges: heat.edges_ms.0.clone(),
        counts: heat.counts.iter().map(|it| it.0.clone()).collect(),
    };
    let caption = "Each cell counts the gaps between two tokens of successful requests, at the time of the later token. A second dark row \
                   above the first shows tokens that waited, for example for the prefill of other requests. The lowest row includes all \
                   shorter gaps.";
    let mut figure = figure("itl-heat", "ITL over time", caption, time(document), logarithmic("ITL", "ms"));
    figure.series.push(series("gaps", Tone::Main, Shape::Heat(heat)));
    stage_times::mark_borders(&mut figure, document);
    Ok(vec![figure])
}
