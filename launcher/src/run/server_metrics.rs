//! [I/O] The server's metrics of a run: which sources there are, and when they are read.

use ::server_metrics::{
    families::Engine,
    scrape::{INTERVAL, Order, Scraped, Scraper, Source, TIMEOUT},
};
use crds::{
    benchmark_run::MetricsKind,
    resolve::{METRICS_PATH, MetricsEndpoint, ResolvedRun, unix_socket},
};
use engine::{
    issue::LoadResult,
    record::{RequestOutcome, RequestRecord},
    recorder::Recorder,
    stop::Stop,
};
use reqwest::Url;
use tracing::{info, warn};

use super::ready::Secrets;
use analysis::Analysis;
use report::{ClientTokens, ServerReport};

/// Reads the metrics of all sources until it is ended.
pub(super) struct ServerMetrics(Option<Scraper>);

impl ServerMetrics {
    /// Starts reading. Without a source it does nothing. A thread that cannot be started is a warning, because the figures of
    /// the load do not depend on it.
    pub(super) fn start(run: &ResolvedRun, base_url: &str, secrets: &Secrets) -> ServerMetrics {
        let sources = sources(run.metrics.as_deref(), base_url);
        if sources.is_empty() {
            return ServerMetrics(None);
        }
        let order = Order {
            sources,
            token: secrets.token().map(str::to_owned),
            authorities: secrets.authorities().map(str::to_owned),
            interval: INTERVAL,
            timeout: TIMEOUT,
        };
        let scraper = Scraper::start(order);
        if let Err(error) = &scraper {
            warn!(%error, "the server's metrics are not read");
        }
        ServerMetrics(scraper.ok())
    }

    /// Reads every source once, right before a load.
    pub(super) fn before_load(&self, stop: &Stop) {
        self.0.iter().for_each(|it| it.before_load(stop));
    }

    /// Reads every source once, right after a load.
    pub(super) fn after_load(&self, stop: &Stop) {
        self.0.iter().for_each(|it| it.after_load(stop));
    }

    /// What was read; `None`: nothing was.
    pub(super) fn end(self) -> Option<Scraped> {
        let scraped = self.0?.end()?;
        let told = !scraped.addresses.is_empty() || !scraped.unresolved.is_empty();
        told.then_some(scraped)
    }
}

/// What the run names, or else the target itself.
fn sources(named: Option<&[MetricsEndpoint]>, base_url: &str) -> Vec<Source> {
    let Some(named) = named else {
        let is_socket = unix_socket(base_url).is_some();
        let path = if is_socket { "" } else { METRICS_PATH };
        let url = format!("{}{path}", base_url.trim_end_matches('/'));
        return vec![Source { url, engine: None, is_guess: true, gets_token: true }];
    };
    let source = |it: &MetricsEndpoint| Source {
        url: it.url.clone(),
        engine: engine(it.kind),
        is_guess: false,
        gets_token: same_origin(&it.url, base_url),
    };
    named.iter().map(source).collect()
}

fn engine(kind: MetricsKind) -> Option<Engine> {
    match kind {
        MetricsKind::Auto => None,
        MetricsKind::Vllm => Some(Engine::Vllm),
        MetricsKind::Sglang => Some(Engine::Sglang),
        MetricsKind::EndpointPicker => Some(Engine::EndpointPicker),
        MetricsKind::Dcgm => Some(Engine::Dcgm),
        MetricsKind::Prometheus => Some(Engine::Prometheus),
    }
}

/// The token of the target goes to no other server.
fn same_origin(one: &str, other: &str) -> bool {
    let origin = |url: &str| Url::parse(url).ok().map(|it| it.origin()).filter(|it| it.is_tuple());
    origin(one).is_some_and(|it| origin(other) == Some(it))
}

/// The figures of what was read.
pub(super) fn report(scraped: Scraped, load: &LoadResult, analysis: &Analysis) -> ServerReport {
    let client = client_tokens(&load.recorder);
    let report = ServerReport::new(scraped, load.clock.zero(), load.wall, analysis, client);
    let scrapes: u64 = report.scraped.addresses.iter().map(|it| it.scrapes).sum();
    info!(addresses = report.scraped.addresses.len(), scrapes, "the server's metrics were read");
    report
}

/// The tokens of all requests that were sent, by the usage of their answers. `None`: the usage of some is not known, because they
/// failed, ended early or have none.
fn client_tokens(recorder: &Recorder) -> Option<ClientTokens> {
    if !recorder.probes.is_empty() {
        return None;
    }
    match recorder.every_record() {
        Some(records) => records
            .iter()
            .filter(|it| it.sent.is_some())
            .map(of_record)
            .try_fold(ClientTokens { prompt: 0, output: 0 }, |sum, it| {
                it.map(|it| ClientTokens { prompt: sum.prompt + it.prompt, output: sum.output + it.output })
            }),
        None => {
            let whole = recorder.stages.iter().all(|it| {
                let succeeded = it.succeeded();
                it.excluded.is_empty()
                    && it.with_usage == succeeded
                    && it.outcomes.keys().all(|it| *it == RequestOutcome::Ok)
            });
            let sum = |of: fn(&engine::recorder::StageTally) -> u64| recorder.stages.iter().map(of).sum::<u64>();
            let tokens =
                ClientTokens { prompt: sum(|it| it.input_tokens_total), output: sum(|it| it.output_tokens_of_ended) };
            whole.then_some(tokens)
        }
    }
}

fn of_record(record: &RequestRecord) -> Option<ClientTokens> {
    let ended = record.outcome.is_complete();
    let (prompt, output) = (record.input_tokens.filter(|_| ended)?, record.output_tokens?);
    Some(ClientTokens { prompt: u64::from(prompt), output: u64::from(output) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_named_source_the_target_is_tried() {
        let guess = |base: &str| sources(None, base).remove(0);
        assert_eq!(guess("http://gateway/llm/").url, "http://gateway/llm/metrics");
        assert_eq!(guess("unix:/run/vllm.sock").url, "unix:/run/vllm.sock");
        assert!(guess("http://vllm:8000").is_guess && guess("http://vllm:8000").gets_token);
        assert!(sources(Some(&[]), "http://vllm:8000").is_empty());
    }

    #[test]
    fn the_token_goes_to_the_target_alone() {
        let gets = |url: &str| {
            let named = MetricsEndpoint { url: url.into(), kind: MetricsKind::Auto };
            let source = sources(Some(&[named]), "https://vllm:8000/llm").remove(0);
            assert!(!source.is_guess);
            source.gets_token
        };
        assert!(gets("https://vllm:8000/metrics"));
        for other in ["http://vllm:8000/metrics", "https://vllm:8001/metrics", "https://epp:8000/metrics"] {
            assert!(!gets(other), "{other}");
        }
    }
}
