//! [I/O] The server metrics of a run: which sources are read, and when.

use ::server_metrics::scraped::Scraped;
use crds::{
    benchmark_run::MetricsKind,
    resolve::{Endpoint, METRICS_PATH, MetricsEndpoint, ResolvedRun, unix_socket},
};
use engine::{client::Resolver, stop::Stop};
use reqwest::Url;
use scrape::{Depth, INTERVAL, Order, Scraper, Source, TIMEOUT};
use tokio::sync::watch;
use tracing::{info, warn};

use super::ready::Secrets;
use analysis::servers::ServerAnalysis;

/// Reads the metrics of all sources until [`ServerMetrics::end`].
pub(super) struct ServerMetrics(Option<Scraper>);

impl ServerMetrics {
    /// Starts reading. Does nothing if there is no source. If the thread cannot start, there is only a warning, because the figures of the load do
    /// not depend on it.
    pub(super) fn start(
        run: &ResolvedRun,
        base_urls: &[String],
        secrets: &Secrets,
        resolver: &Resolver,
    ) -> ServerMetrics {
        let sources = sources(run.metrics.as_deref(), base_urls);
        if sources.is_empty() {
            return ServerMetrics(None);
        }
        // The embedded simulator and a managed server listen on loopback, so no address is blocked for them.
        let is_own = run.metrics.is_none() && matches!(run.endpoint, Endpoint::Simulator(_) | Endpoint::Server(_));
        let order = Order {
            sources,
            token: secrets.token().map(str::to_owned),
            authorities: secrets.authorities().map(str::to_owned),
            interval: INTERVAL,
            timeout: TIMEOUT,
            resolver: if is_own { Resolver::default() } else { resolver.clone() },
        };
        let scraper = Scraper::start(order);
        if let Err(error) = &scraper {
            warn!(%error, "the server's metrics are not read");
        }
        ServerMetrics(scraper.ok())
    }

    /// Follows the number of requests in the servers. `None` if there is no source.
    pub(super) fn depth(&self) -> Option<watch::Receiver<Option<Depth>>> {
        self.0.as_ref().map(Scraper::depth)
    }

    /// Reads every source once, immediately before a load.
    pub(super) fn before_load(&self, stop: &Stop) {
        self.0.iter().for_each(|it| it.before_load(stop));
    }

    /// Reads every source once, immediately after a load.
    pub(super) fn after_load(&self, stop: &Stop) {
        self.0.iter().for_each(|it| it.after_load(stop));
    }

    /// Stops the scraper, and returns the metrics. `None` if no scraper was started, or if it has no address and no unresolved host name.
    pub(super) fn end(self) -> Option<Scraped> {
        let scraped = self.0?.end()?;
        let told = !scraped.addresses.is_empty() || !scraped.unresolved.is_empty();
        told.then_some(scraped)
    }
}

/// Returns the sources that the run names, otherwise the target itself, with all replicas of a managed server.
fn sources(named: Option<&[MetricsEndpoint]>, base_urls: &[String]) -> Vec<Source> {
    let guess = |base_url: &String| {
        let is_socket = unix_socket(base_url).is_some();
        let path = if is_socket { "" } else { METRICS_PATH };
        let url = format!("{}{path}", base_url.trim_end_matches('/'));
        Source { url, engine: None, is_guess: true, gets_token: true }
    };
    let Some(named) = named else { return base_urls.iter().map(guess).collect() };
    let source = |it: &MetricsEndpoint| Source {
        url: it.url.clone(),
        engine: Some(it.kind).filter(|it| *it != MetricsKind::Auto),
        is_guess: false,
        gets_token: base_urls.iter().any(|base_url| same_origin(&it.url, base_url)),
    };
    named.iter().map(source).collect()
}

/// Whether two URLs have the same origin. The target's token is not sent to any other origin.
fn same_origin(one: &str, other: &str) -> bool {
    let origin = |url: &str| Url::parse(url).ok().map(|it| it.origin()).filter(|it| it.is_tuple());
    origin(one).is_some_and(|it| origin(other) == Some(it))
}

/// Logs how many metrics were read.
pub(super) fn log(servers: Option<&ServerAnalysis>) {
    let Some(servers) = servers else { return };
    let scrapes: u64 = servers.scraped.addresses.iter().map(|it| it.scrapes).sum();
    info!(addresses = servers.scraped.addresses.len(), scrapes, "the server's metrics were read");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_named_source_the_target_is_tried() {
        let guess = |base: &str| sources(None, &[base.to_owned()]).remove(0);
        assert_eq!(guess("http://gateway/llm/").url, "http://gateway/llm/metrics");
        assert_eq!(guess("unix:/run/vllm.sock").url, "unix:/run/vllm.sock");
        assert!(guess("http://vllm:8000").is_guess && guess("http://vllm:8000").gets_token);
        let replicas = ["http://127.0.0.1:1", "http://127.0.0.1:2"].map(str::to_owned);
        let urls: Vec<String> = sources(None, &replicas).into_iter().map(|it| it.url).collect();
        assert_eq!(urls, ["http://127.0.0.1:1/metrics", "http://127.0.0.1:2/metrics"]);
        assert!(sources(Some(&[]), &["http://vllm:8000".to_owned()]).is_empty());
    }

    #[test]
    fn the_token_goes_to_the_target_alone() {
        let gets = |url: &str| {
            let named = MetricsEndpoint { url: url.into(), kind: MetricsKind::Auto };
            let source = sources(Some(&[named]), &["https://vllm:8000/llm".to_owned()]).remove(0);
            assert!(!source.is_guess);
            source.gets_token
        };
        assert!(gets("https://vllm:8000/metrics"));
        for other in ["http://vllm:8000/metrics", "https://vllm:8001/metrics", "https://epp:8000/metrics"] {
            assert!(!gets(other), "{other}");
        }
    }
}
