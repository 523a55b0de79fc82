//! A sample of requests on a time line, with the phases waiting, prefill and decode.

use charts::{Axis, Request, Scale, Shape, Tone};
use document::{ReportDocument, RequestSampleDocument};

use super::{
    Content,
    plot::{figure, seconds, series, time},
    stage_times,
};
use crate::text::count;

pub(super) fn content(document: &ReportDocument) -> Content {
    let Some(sample) = &document.request_sample else {
        return Err("The report has no sample of requests: the launcher kept no records (perRequestRecords: None, or no results folder), \
                    or an older release wrote it."
            .to_owned());
    };
    let requests: Vec<Request> = (0..sample.due_ms.0.len()).filter_map(|it| request(document, sample, it)).collect();
    if requests.is_empty() {
        return Err("No request was sent.".to_owned());
    }
    let shown = count(requests.len() as u64);
    let caption = format!(
        "{shown} of {} requests, a fair sample, in the order in which they were due. A line begins when its request was due, and shows \
         when it was sent, when its first token came, and when it ended.",
        count(sample.of)
    );
    let rows = rows();
    let mut figure = figure("requests", "Requests on a time line", caption, time(document), rows);
    figure.series.push(series("requests", Tone::Main, Shape::Requests(requests)));
    stage_times::mark_borders(&mut figure, document);
    Ok(vec![figure])
}

/// The y axis, which has rows of requests instead of values.
fn rows() -> Axis {
    let (label, unit) = ("Requests".to_owned(), String::new());
    Axis { label, unit, scale: Scale::Linear, includes: Vec::new(), labels: Vec::new() }
}

fn request(document: &ReportDocument, sample: &RequestSampleDocument, index: usize) -> Option<Request> {
    let due = seconds(*sample.due_ms.0.get(index)?);
    let time = |at: Option<Option<f64>>| at.flatten().map(seconds);
    // No time can be before the previous one, even if the file contains that.
    let sent = time(sample.sent_ms.0.get(index).copied()).map(|it| it.max(due));
    let first_token = time(sample.first_token_ms.0.get(index).copied()).map(|it| it.max(sent.unwrap_or(due)));
    let ended = seconds(*sample.ended_ms.0.get(index)?).max(first_token.or(sent).unwrap_or(due));
    let outcome = sample.outcome.0.get(index)?;
    let stage = usize::try_from(*sample.stage.0.get(index)?).ok().and_then(|it| document.stages.get(it));
    let stage = stage.map_or("", |it| it.name.as_str());
    let label = format!("{stage} #{}: {outcome}", sample.number.0.get(index)?);
    Some(Request { due, sent, first_token, ended, succeeded: outcome == "ok", label })
}
