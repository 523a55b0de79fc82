//! [I/O] The server's metrics of a run: which sources there are, and when they are read.

use std::{collections::BTreeMap, iter};

use ::server_metrics::scraped::Scraped;
use crds::{
    benchmark_run::MetricsKind,
    resolve::{Endpoint, METRICS_PATH, MetricsEndpoint, ResolvedRun, unix_socket},
};
use engine::{client::Resolver, stop::Stop};
use measurement::{
    load_result::LoadResult,
    record::RequestRecord,
    recorder::{Recorder, StageTally},
};
use reqwest::Url;
use scrape::{INTERVAL, Order, Scraper, Source, TIMEOUT};
use tracing::{info, warn};
use workload_profiles::{Workload, workload::Extra};

use super::ready::Secrets;
use analysis::Analysis;
use report::{ClientTokens, ServerReport, TokenRange};

/// Reads the metrics of all sources until it is ended.
pub(super) struct ServerMetrics(Option<Scraper>);

impl ServerMetrics {
    /// Starts reading. Without a source it does nothing. A thread that cannot be started is a warning, because the figures of
    /// the load do not depend on it.
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
        // The embedded simulator and a managed server listen on loopback.
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

/// What the run names, or else the target itself: of a managed server all replicas.
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

/// The token of the target goes to no other server.
fn same_origin(one: &str, other: &str) -> bool {
    let origin = |url: &str| Url::parse(url).ok().map(|it| it.origin()).filter(|it| it.is_tuple());
    origin(one).is_some_and(|it| origin(other) == Some(it))
}

/// The figures of what was read.
pub(super) fn report(scraped: Scraped, load: &LoadResult, analysis: &Analysis, workload: &Workload) -> ServerReport {
    let client = client_tokens(&load.recorder);
    let most_requests = has_one_answer_each(workload).then(|| most_requests(&load.recorder));
    let report = ServerReport::new(scraped, load.zero, load.wall, analysis, client, most_requests);
    let scrapes: u64 = report.scraped.addresses.iter().map(|it| it.scrapes).sum();
    info!(addresses = report.scraped.addresses.len(), scrapes, "the server's metrics were read");
    report
}

/// Whether the server's engine counts each request of the run as one request. It counts each of several answers to one prompt, and each
/// turn of a loop over the server's own tools, as a separate request.
fn has_one_answer_each(workload: &Workload) -> bool {
    let of_classes = workload.classes.classes.iter().map(|it| &it.extra);
    let mut fields = iter::once(&workload.sampling.extra).chain(of_classes).flat_map(Extra::iter);
    fields.all(|(name, value)| match name {
        "n" | "best_of" => value.as_u64() == Some(1),
        "use_beam_search" => value.as_bool() == Some(false),
        "tools" => value.as_array().is_some_and(|tools| tools.iter().all(|it| it["type"] == "function")),
        _ => true,
    })
}

/// The most requests that the servers can have finished for a load: all that were due, whatever became of them, with warm-up,
/// probes, and requests that were sent again.
fn most_requests(recorder: &Recorder) -> u64 {
    let of_stage = |it: &StageTally| {
        let excluded: u64 = it.excluded.values().flat_map(BTreeMap::values).sum();
        it.requests() + excluded + it.retried
    };
    recorder.stages.iter().chain(&recorder.probes).map(of_stage).sum()
}

/// The tokens of all requests that were sent, by the usage of their answers. Requests that failed, ended early or have no usage
/// widen the range. `None`: the run had probes, whose usage is not recorded.
fn client_tokens(recorder: &Recorder) -> Option<ClientTokens> {
    if !recorder.probes.is_empty() {
        return None;
    }
    let mut tokens = ClientTokens::default();
    match recorder.every_record() {
        Some(records) => {
            records.iter().filter(|it| it.sent.is_some()).for_each(|it| add_record(&mut tokens, it));
        }
        None => recorder.stages.iter().for_each(|it| add_stage(&mut tokens, it)),
    }
    Some(tokens)
}

fn add_record(tokens: &mut ClientTokens, record: &RequestRecord) {
    let whole = |it: Option<u32>| it.filter(|_| record.outcome.is_complete()).map(u64::from);
    // A prompt of random words has about the length that was asked for, and the server may add the tokens of its template.
    let prompt = record.requested_input_tokens.map(|it| u64::from(it) + u64::from(it) / 10 + MAX_TEMPLATE_TOKENS);
    tokens.prompt.add(whole(record.input_tokens), prompt);
    tokens.output.add(whole(record.output_tokens), record.requested_output_tokens.map(u64::from));
}

/// Without records the requested lengths of single requests are not known, and there is no upper bound where one of them has no usage.
fn add_stage(tokens: &mut ClientTokens, stage: &StageTally) {
    let succeeded = stage.succeeded();
    let all_ok = stage.excluded.is_empty() && stage.requests() == succeeded;
    let (prompt, output) = (stage.input_tokens_total, stage.output_tokens_of_ended);
    let all_told = stage.with_usage == succeeded;
    let range = |known: u64| TokenRange { known, most: Some(known).filter(|_| all_ok && all_told) };
    // Where an answer has no usage its events stand for its tokens, which is no count of the server.
    let ranges = [(&mut tokens.prompt, range(prompt)), (&mut tokens.output, range(if all_told { output } else { 0 }))];
    for (sum, it) in ranges {
        *sum = TokenRange {
            known: sum.known + it.known,
            most: sum.most.zip(it.most).map(|(sum, most)| sum.saturating_add(most)),
        };
    }
}

/// The most tokens that a chat template is taken to add to a prompt.
const MAX_TEMPLATE_TOKENS: u64 = 64;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crds::benchmark_run::Api;
    use measurement::{record::RequestOutcome, recorder::Keep, window::WindowPart};
    use serde_json::json;
    use workload_profiles::workload::{Goodput, LengthDistribution, PromptText, RequestSource};

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
    fn requests_without_usage_bound_the_tokens_by_what_was_asked_for() {
        let record = |outcome, usage: Option<u32>, asked: Option<u32>| RequestRecord {
            stage: 0,
            number: 0,
            class: None,
            turn: None,
            scheduled: Duration::ZERO,
            sent: Some(Duration::ZERO),
            permit_wait: None,
            first_token: None,
            last_token: None,
            ended: Duration::from_secs(1),
            outcome,
            requested_input_tokens: asked,
            requested_output_tokens: asked,
            input_tokens: usage,
            cached_tokens: None,
            output_tokens: usage,
            content_events: 3,
            replica: None,
        };
        let mut tokens = ClientTokens::default();
        add_record(&mut tokens, &record(RequestOutcome::Ok, Some(90), Some(100)));
        assert_eq!((tokens.prompt, tokens.output), (TokenRange::exact(90), TokenRange::exact(90)));
        // What a broken stream said of its tokens so far may grow yet.
        add_record(&mut tokens, &record(RequestOutcome::BrokenStream, Some(7), Some(100)));
        let most = Some(90 + 100 + 10 + MAX_TEMPLATE_TOKENS);
        assert_eq!(tokens.prompt, TokenRange { known: 90, most });
        assert_eq!(tokens.output, TokenRange { known: 90, most: Some(190) });
        add_record(&mut tokens, &record(RequestOutcome::HttpError(500), None, None));
        assert_eq!(tokens.prompt, TokenRange { known: 90, most: None });
    }

    #[test]
    fn a_request_with_several_answers_is_not_one_for_the_server() {
        let check = |api: Api, extra: serde_json::Value, expected: bool| {
            let lengths = LengthDistribution::fixed(1);
            let requests = RequestSource::random(lengths.clone(), lengths, PromptText::Words);
            let mut workload = Workload::new(api, requests, Vec::new());
            workload.sampling.extra = serde_json::from_value(extra.clone()).unwrap();
            assert_eq!(has_one_answer_each(&workload), expected, "{extra}");
        };
        for extra in [json!({}), json!({"temperature": 0, "n": 1, "use_beam_search": false})] {
            check(Api::Completions, extra, true);
        }
        for extra in [json!({"n": 2}), json!({"best_of": 4}), json!({"use_beam_search": true}), json!({"n": "1"})] {
            check(Api::Chat, extra, false);
        }
        check(Api::Responses, json!({"tools": [{"type": "function", "name": "f"}]}), true);
        check(Api::Responses, json!({"tools": [{"type": "web_search"}]}), false);
    }

    #[test]
    fn every_request_that_was_due_may_have_been_finished() {
        let mut recorder = Recorder::new(2, Goodput::default(), Keep::Summary).with_probes();
        let count = |tally: &mut StageTally, outcome, requests| tally.outcomes.insert(outcome, requests);
        count(&mut recorder.stages[0], RequestOutcome::Ok, 100);
        count(&mut recorder.stages[1], RequestOutcome::Timeout, 20);
        count(&mut recorder.probes[1], RequestOutcome::Ok, 3);
        recorder.stages[0].retried = 4;
        let warm_up = BTreeMap::from([(RequestOutcome::Ok, 5)]);
        recorder.stages[0].excluded = BTreeMap::from([(WindowPart::WarmUp, warm_up)]);
        assert_eq!(most_requests(&recorder), 132);
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
