//! Remarks on the server's metrics: gaps, restarts, and tokens that differ from ours. Pure.

use super::ClientTokens;
use crds::wording::{one_line, percent};
use server_metrics::{scrape::Scraped, series::WindowFigures};

/// Tokens by which two counts may differ: a readiness probe, or a request that was sent again.
const FEW_TOKENS: f64 = 16.0;
/// The share of our tokens by which they may differ.
const FEW_SHARE: f64 = 0.01;
/// Past this share of failed scrapes the levels have gaps that matter.
const FEW_FAILURES: f64 = 0.05;
/// Sources without an address that are named.
const MAX_NAMED: usize = 4;

pub(super) fn remarks(scraped: &Scraped, run: &WindowFigures, client: Option<ClientTokens>) -> Vec<String> {
    let mut found = Vec::new();
    for (url, problem) in scraped.unresolved.iter().take(MAX_NAMED) {
        found.push(format!("no metrics were read at {}: {}; check target.metrics", one_line(url), one_line(problem)));
    }
    found.extend(scraped.addresses.iter().filter_map(|it| {
        let gaps = it.failures as f64 > it.scrapes as f64 * FEW_FAILURES;
        let reason = it.reasons.iter().max_by_key(|(_, count)| **count).map(|(reason, _)| reason.as_str());
        let place = it.address.map(|it| format!(" ({it})")).unwrap_or_default();
        gaps.then(|| {
            format!(
                "{} of {} scrapes of {}{place} failed, mostly: {}",
                it.failures,
                it.scrapes,
                one_line(&it.url),
                reason.unwrap_or("no reason is known")
            )
        })
    }));
    found.truncate(MAX_NAMED * 2);
    if scraped.left_out > 0 {
        let most = server_metrics::scrape::MAX_ADDRESSES;
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
    if run.resets > 0 {
        found.push(format!(
            "counters of the servers began again {} times during the run: a server was started anew, or one URL leads to several servers in turn, which a headless Service in target.metrics tells apart",
            run.resets
        ));
    }
    if let Some(client) = client.filter(|_| run.whole) {
        found.extend(mismatch("prompt", run.prompt_tokens, client.prompt));
        found.extend(mismatch("output", run.generation_tokens, client.output));
    }
    found
}

/// A remark where both counts differ by more than a few tokens and by more than a small share.
fn mismatch(what: &str, server: Option<f64>, client: u64) -> Option<String> {
    let (server, client) = (server?, client as f64);
    let differ = (server - client).abs();
    if differ <= FEW_TOKENS || differ <= client * FEW_SHARE {
        return None;
    }
    let why = if server > client {
        "others use the server as well, or requests were sent again or counted more than once on the way"
    } else {
        "not every server behind the target is scraped: name all of them in target.metrics"
    };
    let share = if client > 0.0 { format!(", {} of ours", percent(server / client)) } else { String::new() };
    Some(format!(
        "the servers counted {server:.0} {what} tokens during the run, and the usage of the answers {client:.0}{share}: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_differ_by_a_few_are_no_remark() {
        for (server, client) in [(1_000.0, 1_000), (1_016.0, 1_000), (100_900.0, 100_000), (0.0, 16)] {
            assert_eq!(mismatch("prompt", Some(server), client), None, "{server} {client}");
        }
        assert_eq!(mismatch("prompt", None, 1_000), None);
        let more = mismatch("output", Some(2_000.0), 1_000).unwrap();
        assert!(
            more.contains("2000 output tokens") && more.contains("200 % of ours") && more.contains("others use"),
            "{more}"
        );
        let fewer = mismatch("prompt", Some(500.0), 1_000).unwrap();
        assert!(fewer.contains("not every server"), "{fewer}");
        assert!(mismatch("prompt", Some(50.0), 0).is_some());
    }
}
