//! Requests in flight, as counted by the client and the servers.

use charts::{Figure, Place, Shape, Tone};
use document::{ReportDocument, ServerSeriesDocument};
use workload_profiles::workload::Load;

use super::{
    Content,
    bins::{Bins, of_run},
    plot::{figure, line, quantity, series, time},
    server_series, stage_times,
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let of_time = of_run(document)?;
    let under_way = Bins::from_series(of_time).places(of_time.under_way.0.iter().map(|it| Some(*it)));
    let server = server_series::of_server(document);
    let both = match &server {
        Ok(it) if it.running_requests.is_some() => {
            "The server's value is from the last scrape, up to one scrape interval ago: too small while the load rises, too large while it falls."
        }
        Ok(_) => "The server's metrics do not include its running requests.",
        Err(_) => "The run has no series of the server to compare with.",
    };
    let caption = format!("Mean number of requests in flight in each bin, from sending to the end. {both}");
    let mut figure = figure("concurrency", "Requests in flight", caption, time(document), quantity("Requests", ""));
    limits(&mut figure, document);
    figure.series.push(line("client: in flight", Tone::Main, under_way));
    if let Ok(server) = server {
        let waits = server.waiting_requests.as_ref().is_some_and(|it| it.0.iter().flatten().any(|it| *it > 0.0));
        let total = total(server).filter(|_| waits);
        figure.series.extend(total.map(|it| line("server: running and waiting", Tone::Category(1), it)));
        figure.series.extend(server_series::level(
            server,
            "server: running",
            Tone::Category(2),
            &server.running_requests,
        ));
    }
    stage_times::mark_borders(&mut figure, document);
    Ok(vec![figure])
}

/// Marks the concurrency of closed-loop stages, and the concurrency limit of all other stages.
fn limits(figure: &mut Figure, document: &ReportDocument) {
    let mut places = Vec::new();
    for stage in &document.stages {
        let limit = match stage.load {
            Load::Closed { concurrency, .. } => Some(concurrency),
            _ => stage.load.max_concurrency(),
        };
        if let (Some(limit), Some((begin, end))) = (limit, stage_times::span(document, stage)) {
            places.push(Place { x: begin, y: Some(f64::from(limit)) });
            places.push(Place { x: end, y: Some(f64::from(limit)) });
            places.push(Place { x: end, y: None });
        }
    }
    if !places.is_empty() {
        figure.series.push(series("limit of the load", Tone::Plan, Shape::Steps(places)));
    }
}

/// Requests in the server: running plus waiting.
fn total(server: &ServerSeriesDocument) -> Option<Vec<Place>> {
    let running = server_series::places(server, server.running_requests.as_ref()?);
    let waiting = server_series::places(server, server.waiting_requests.as_ref()?);
    let sum = |(one, other): (Place, Place)| Place { x: one.x, y: one.y.zip(other.y).map(|(one, other)| one + other) };
    Some(running.into_iter().zip(waiting).map(sum).collect())
}
