//! The requested load, the sent load and the answers over time, and how late the client sent.

use charts::Tone;
use document::ReportDocument;

use crate::text::number;

use super::{
    Content,
    bins::{Bins, QUANTILES_OF_BINS, of_run, together},
    plot::{figure, line, quantity, time},
    stage_times,
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let series = of_run(document)?;
    let bins = Bins::from_series(series);
    let together = together(&series.sent);
    let caption = format!(
        "Requests per second that were due (in a closed loop: whose slot became free), sent, and successful; each point covers {} s. If sent \
         follows due and succeeded falls behind, the server is the limit.",
        number(bins.width * together as f64)
    );
    let mut rates =
        figure("offered-load", "Due, sent and succeeded", caption, time(document), quantity("Requests", "requests/s"));
    rates.series.push(line("due", Tone::Plan, bins.mean_rates(&series.due, together)));
    rates.series.push(line("sent", Tone::Category(1), bins.mean_rates(&series.sent, together)));
    rates.series.extend(series.ended.get("ok").map(|it| line("succeeded", Tone::Main, bins.mean_rates(it, together))));
    stage_times::mark_borders(&mut rates, document);
    let mut figures = vec![rates];
    if let Some(lag) = &series.send_lag_ms {
        let caption = format!(
            "How late the client sent requests after they were due, without their wait for a free slot of maxConcurrency: the client's own delay. \
             {QUANTILES_OF_BINS}"
        );
        let mut figure =
            figure("send-lag", "Send lag of the client", caption, time(document), quantity("Send lag", "ms"));
        figure.series.extend(bins.quantiles(lag));
        stage_times::mark_borders(&mut figure, document);
        figures.push(figure);
    }
    Ok(figures)
}
