//! Tokens by source over time, compared with the client's counts.

use charts::{Figure, Shape, Tone};
use document::{Column, ReportDocument, ServerSeriesDocument};

use super::{
    Content,
    bins::{Bins, of_run},
    plot::{figure, line, quantity, series, time},
    server_series::{of_server, places},
    stage_times,
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let client = of_run(document)?;
    let server = of_server(document).ok();
    let mut figures: Vec<Figure> = server.and_then(|it| by_source(document, it)).into_iter().collect();
    let counted = match server {
        Some(_) => "as the client and as the server count them",
        None => "as the client counts them; there is no series of the server to compare with",
    };
    let bins = Bins::from_series(client);
    let mut output = figure(
        "tokens",
        "Output tokens per second",
        format!("Output tokens per second, {counted}. The client counts them as their events arrive."),
        time(document),
        quantity("Output", "tokens/s"),
    );
    output.series.push(line("output, client", Tone::Main, bins.rates(&client.output_tokens)));
    let generated = server.and_then(|it| it.generation_tokens_per_second.as_ref().map(|tokens| (it, tokens)));
    output
        .series
        .extend(generated.map(|(it, tokens)| line("generated, server", Tone::Category(1), places(it, tokens))));
    let mut prompt = figure(
        "prompt-tokens",
        "Prompt tokens per second",
        format!(
            "Prompt tokens per second, {counted}. The client counts them by usage, with the first token of a request."
        ),
        time(document),
        quantity("Prompt", "tokens/s"),
    );
    prompt.series.extend(client.input_tokens.as_ref().map(|it| line("prompt, client", Tone::Main, bins.rates(it))));
    let told = server.and_then(|it| it.prompt_tokens_per_second.as_ref().map(|tokens| (it, tokens)));
    prompt.series.extend(told.map(|(it, tokens)| line("prompt, server", Tone::Category(1), places(it, tokens))));
    for mut figure in [output, prompt].into_iter().filter(|it| !it.series.is_empty()) {
        stage_times::mark_borders(&mut figure, document);
        figures.push(figure);
    }
    Ok(figures)
}

/// Computed prompt tokens, cached prompt tokens and generated tokens as stacked bars. `None` if the servers do not report them.
fn by_source(document: &ReportDocument, server: &ServerSeriesDocument) -> Option<Figure> {
    let bins = Bins::new(server.start_ms, server.bin_ms);
    let bars = |values: Vec<Option<f64>>| Shape::Bars(bins.bars(values));
    let prompt = server.prompt_tokens_per_second.as_ref();
    let cached = server.cached_prompt_tokens_per_second.as_ref();
    let mut parts = Vec::new();
    match (prompt, cached) {
        (Some(prompt), Some(cached)) => {
            parts.push(series("prompt, computed", Tone::Category(1), bars(computed(prompt, cached))));
            parts.push(series("prompt, from the cache", Tone::Quiet, bars(cached.0.clone())));
        }
        (Some(prompt), None) => parts.push(series("prompt", Tone::Category(1), bars(prompt.0.clone()))),
        (None, _) => {}
    }
    let generated = server.generation_tokens_per_second.as_ref();
    parts.extend(generated.map(|it| series("generated", Tone::Main, bars(it.0.clone()))));
    if parts.is_empty() {
        return None;
    }
    let words = if cached.is_some() { "" } else { " The server does not say which prompt tokens were cached." };
    let caption = format!(
        "Tokens per second by where they came from, from the servers' metrics, summed over all servers.{words}"
    );
    let mut figure =
        figure("tokens-by-source", "Tokens by source", caption, time(document), quantity("Tokens", "tokens/s"));
    figure.series = parts;
    stage_times::mark_borders(&mut figure, document);
    Some(figure)
}

/// Computed prompt tokens: all prompt tokens minus cached tokens.
fn computed(prompt: &Column<Option<f64>>, cached: &Column<Option<f64>>) -> Vec<Option<f64>> {
    let both = prompt.0.iter().zip(&cached.0);
    both.map(|(prompt, cached)| prompt.map(|it| (it - cached.unwrap_or(0.0)).max(0.0))).collect()
}
