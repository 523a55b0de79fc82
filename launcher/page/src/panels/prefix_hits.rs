//! The share of prompt tokens in the servers' prefix cache over time, from the servers' metrics and from the usage of answers.

use charts::{Bar, Shape, Tone};
use document::ReportDocument;

use super::{
    Content,
    plot::{figure, series, share, time},
    server_series::{level, of_server},
    stage_times,
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let by_usage: Vec<Bar> = document
        .stages
        .iter()
        .filter_map(|it| {
            let (from, to) = stage_times::span(document, it)?;
            Some(Bar { from, to, value: it.figures.cached_share? })
        })
        .collect();
    let server = of_server(document);
    let hits =
        server.as_ref().ok().and_then(|it| level(it, "server's metrics", Tone::Main, &it.prefix_cache_hit_share));
    if by_usage.is_empty() && hits.is_none() {
        return Err(match server {
            Err(why) => format!("{why} The usage of the answers has no cached tokens either."),
            Ok(_) => {
                "Neither the server's metrics nor the usage of its answers include cached prompt tokens.".to_owned()
            }
        });
    }
    let caption = format!(
        "The share of prompt tokens that came from the prefix cache: the hits of the server's metrics over time, and the cached tokens in \
         the usage of the answers by stage. Prompts are {}: {}.",
        document.contamination.prompts,
        document.contamination.why.trim_end_matches('.')
    );
    let mut figure =
        figure("prefix-hits", "Prefix cache", caption, time(document), share("Prompt tokens from the cache"));
    if !by_usage.is_empty() {
        figure.series.push(series("usage of the answers, by stage", Tone::Quiet, Shape::Bars(by_usage)));
    }
    figure.series.extend(hits);
    stage_times::mark_borders(&mut figure, document);
    Ok(vec![figure])
}
