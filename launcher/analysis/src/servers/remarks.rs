//! Remarks on the servers' metrics: gaps, restarts, requests of other clients, and token counts that differ from the client's. Pure.

use super::{ClientTokens, OtherRequests, TokenRange};
use crds::{
    figure::rate_text,
    wording::{one_line, percent},
};
use server_metrics::{
    scraped::{Address, Scraped},
    series::WindowFigures,
};

/// Tolerated difference between two token counts. It covers a readiness probe, or a request that was sent twice.
const FEW_TOKENS: f64 = 16.0;
/// Tolerated difference, as a share of the client's tokens.
const FEW_SHARE: f64 = 0.01;
/// If a larger share of scrapes failed, a remark reports the gaps in the gauges.
const FEW_FAILURES: f64 = 0.05;
/// A remark is made if the concurrency from the gauges and the one computed from latencies differ by more than this factor.
const GAUGES_APART: f64 = 2.0;
/// Minimum concurrency computed from latencies for such a remark.
const FEWEST_REQUESTS: f64 = 1.0;
/// Maximum number of metric sources without an address that a remark names.
const MAX_NAMED: usize = 4;

/// Returns all remarks. `run` and `stages`: the figures of the run and of each stage.
pub(super) fn remarks(
    scraped: &Scraped,
    run: &WindowFigures,
    stages: &[Option<WindowFigures>],
    client: Option<ClientTokens>,
    others: Option<OtherRequests>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (url, problem) in scraped.unresolved.iter().take(MAX_NAMED) {
        found.push(format!("no metrics were read at {}: {}; check target.metrics", one_line(url), one_line(problem)));
    }
    found.extend(scraped.addresses.iter().filter_map(|it| {
        let gaps = it.failures as f64 > it.scrapes as f64 * FEW_FAILURES;
        let reason = it.reasons.iter().max_by_key(|(_, count)| **count).map(|(reason, _)| reason.as_str());
        gaps.then(|| {
            format!(
                "{} of {} scrapes of {} failed, mostly: {}",
                it.failures,
                it.scrapes,
                place(it),
                reason.unwrap_or("no reason is known")
            )
        })
    }));
    found.truncate(MAX_NAMED * 2);
    if scraped.left_out > 0 {
        let most = server_metrics::scraped::MAX_ADDRESSES;
        found.push(format!(
            "{} addresses of servers were not scraped, because there are more than {most}",
            scraped.left_out
        ));
    }
    let left_out: usize =
        scraped.addresses.iter().filter_map(|it| scraped.store.addresses().get(it.index)).map(|it| it.left_out).sum();
    if left_out > 0 {
        found.push(format!("{left_out} series of the servers were not kept, because there are too many of them, or their labels cannot be read"));
    }
    found.extend(scraped.twins.iter().take(MAX_NAMED).map(|(first, twin)| {
        format!("{} is the same server as {}, and is counted once", one_line(twin), one_line(first))
    }));
    let several = |it: &&Address| scraped.store.addresses().get(it.index).is_some_and(|it| it.is_several_servers());
    found.extend(scraped.addresses.iter().filter(several).take(MAX_NAMED).map(|it| {
        format!(
            "several servers answered in turn at {}, so increases, distributions and sums of their counters cannot be computed: name each server in target.metrics, for example by a headless Service",
            place(it)
        )
    }));
    let gaps = stages.iter().flatten().filter(|it| it.is_gap).count();
    if gaps > 0 || run.is_gap {
        found.push(format!(
            "{gaps} of {} stages{} lack increases and distributions of the servers' metrics, because there is no scrape within two intervals before or after them",
            stages.len(),
            if run.is_gap { " and the run" } else { "" }
        ));
    }
    if run.resets > 0 {
        found.push(format!(
            "counters of the servers were reset {} times during the run: a server was restarted, or several servers answered in turn at one URL; in the second case, name a headless Service in target.metrics",
            run.resets
        ));
    }
    found.extend(quiet_gauges(run));
    let of_others = others.and_then(|it| other_clients(scraped, it));
    // Requests of other clients would explain a difference of the token counts, so the counts are not compared.
    let client = client.filter(|_| run.whole && of_others.is_none());
    found.extend(of_others);
    if let Some(client) = client {
        found.extend(mismatch("prompt", run.prompt_tokens, client.prompt));
        found.extend(mismatch("output", run.generation_tokens, client.output));
    }
    found
}

/// The URL of an address, with the resolved IP address.
fn place(it: &Address) -> String {
    format!("{}{}", one_line(&it.url), it.address.map(|it| format!(" ({it})")).unwrap_or_default())
}

/// A remark if the gauges of a server contradict its own latencies. This happens if a busy server answers scrapes only at quiet moments.
fn quiet_gauges(run: &WindowFigures) -> Option<String> {
    let gauges = run.running?.mean + run.waiting.map_or(0.0, |it| it.mean);
    let by_latency = run.by_littles_law.filter(|it| *it >= FEWEST_REQUESTS)?;
    let differs = gauges < by_latency / GAUGES_APART || gauges > by_latency * GAUGES_APART;
    differs.then(|| {
        format!(
            "the gauges of the servers report {} running and waiting requests on average, but Little's law gives {} from the servers' own latencies; use the second number: a busy server answers a scrape only at a quiet moment",
            rate_text(gauges),
            rate_text(by_latency)
        )
    })
}

/// A remark if another client used a server during the run.
fn other_clients(scraped: &Scraped, found: OtherRequests) -> Option<String> {
    let OtherRequests { address, servers, finished, others } = found;
    if others <= 0.0 {
        return None;
    }
    let address = scraped.addresses.iter().find(|it| it.index == address);
    let server = match (servers, address) {
        (2.., Some(address)) => format!("the server at {}", place(address)),
        _ => "the server".to_owned(),
    };
    Some(format!(
        "{server} finished {others:.0} requests that this run did not send ({} of its {finished:.0}): another client used it during the measurement, and its load is part of these latencies; stop the other client, or, if it is a run, set target.exclusive: true in both runs",
        percent(others / finished)
    ))
}

/// A remark if both counts differ by more than a few tokens and by more than a small share.
fn mismatch(what: &str, server: Option<f64>, client: TokenRange) -> Option<String> {
    let server = server?;
    let differs = |client: u64| {
        let differ = (server - client as f64).abs();
        differ > FEW_TOKENS && differ > client as f64 * FEW_SHARE
    };
    let is_less = server < client.known as f64 && differs(client.known);
    let is_more = client.most.is_some_and(|it| server > it as f64 && differs(it));
    let why = match (is_more, is_less) {
        (true, _) => "other clients used the servers, or requests were repeated or counted twice on the way",
        (_, true) => "not every server behind the target is scraped: name all of them in target.metrics",
        (false, false) => return None,
    };
    let known = client.known;
    let ours = match (client.whole(), client.most) {
        (Some(0), _) => "0".to_owned(),
        (Some(all), _) => format!("{all} (the servers' count is {} of it)", percent(server / all as f64)),
        (None, Some(most)) => format!("between {known} and {most}, because the usage of some requests is not known"),
        (None, None) => format!("at least {known}, because the usage of some requests is not known"),
    };
    Some(format!(
        "the servers counted {server:.0} {what} tokens during the run, and the usage of the answers adds up to {ours}: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use server_metrics::series::Levels;

    use super::*;

    #[test]
    fn gauges_that_were_read_at_quiet_moments_are_told() {
        let level = |mean| Some(Levels { mean, min: 0.0, max: mean });
        let run = |running, waiting, by_littles_law| WindowFigures {
            running: level(running),
            waiting: level(waiting),
            by_littles_law: Some(by_littles_law),
            ..WindowFigures::default()
        };
        // A closed loop of four requests, but the gauges are near zero.
        let told = quiet_gauges(&run(0.23, 0.0, 4.9)).unwrap();
        assert!(told.contains("report 0.23 running and waiting requests") && told.contains("gives 4.9 from"), "{told}");
        assert!(quiet_gauges(&run(20.0, 1.0, 10.0)).is_some());
        for (running, waiting, law) in [(4.0, 0.5, 4.9), (2.0, 1.0, 5.9), (0.1, 0.0, 0.9)] {
            assert_eq!(quiet_gauges(&run(running, waiting, law)), None);
        }
        assert_eq!(quiet_gauges(&WindowFigures { by_littles_law: Some(5.0), ..WindowFigures::default() }), None);
    }

    #[test]
    fn tokens_that_differ_by_a_few_are_no_remark() {
        for (server, client) in [(1_000.0, 1_000), (1_016.0, 1_000), (100_900.0, 100_000), (0.0, 16)] {
            assert_eq!(mismatch("prompt", Some(server), TokenRange::exact(client)), None, "{server} {client}");
        }
        let thousand = TokenRange::exact(1_000);
        assert_eq!(mismatch("prompt", None, thousand), None);
        let more = mismatch("output", Some(2_000.0), thousand).unwrap();
        assert!(
            more.contains("2000 output tokens") && more.contains("200 % of it") && more.contains("other clients used"),
            "{more}"
        );
        let fewer = mismatch("prompt", Some(500.0), thousand).unwrap();
        assert!(fewer.contains("not every server"), "{fewer}");
        assert!(mismatch("prompt", Some(50.0), TokenRange::exact(0)).is_some());
    }

    #[test]
    fn tokens_of_requests_without_usage_are_allowed_for_and_no_more() {
        let range = TokenRange { known: 1_000, most: Some(1_500) };
        for server in [990.0, 1_000.0, 1_200.0, 1_500.0, 1_514.0] {
            assert_eq!(mismatch("prompt", Some(server), range), None, "{server}");
        }
        let more = mismatch("prompt", Some(3_000.0), range).unwrap();
        assert!(more.contains("between 1000 and 1500") && more.contains("other clients used"), "{more}");
        let fewer = mismatch("prompt", Some(500.0), range).unwrap();
        assert!(fewer.contains("not every server"), "{fewer}");
        let no_bound = TokenRange { known: 1_000, most: None };
        assert_eq!(mismatch("output", Some(1e6), no_bound), None);
        assert!(mismatch("output", Some(500.0), no_bound).unwrap().contains("at least 1000"));
    }
}
