//! Counts the requests and tokens of a run on the client side. Pure.

use std::{collections::BTreeMap, iter};

use measurement::{
    record::RequestRecord,
    recorder::{Recorder, StageTally},
};
use workload_profiles::{Workload, workload::Extra};

/// Tokens of all requests of a run. The usage of an answer reports the tokens of its request. For requests without usage, only an upper bound is
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientTokens {
    pub prompt: TokenRange,
    pub output: TokenRange,
}

/// A number of tokens that is known only as a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRange {
    /// Number of tokens that the usage of answers reports; the lower bound.
    pub known: u64,
    /// The upper bound: `known` plus the maximum for requests without usage. `None` if unbounded.
    pub most: Option<u64>,
}

impl Default for TokenRange {
    fn default() -> TokenRange {
        TokenRange::exact(0)
    }
}

impl TokenRange {
    /// An exact number of tokens, because every request has usage.
    pub fn exact(tokens: u64) -> TokenRange {
        TokenRange { known: tokens, most: Some(tokens) }
    }

    /// Returns the exact number of tokens; `None` if some requests have no usage.
    pub fn whole(self) -> Option<u64> {
        self.most.filter(|it| *it == self.known)
    }

    /// Adds a request. `tokens` is the number that its usage reports. `most` is the maximum number if it has no usage; `None` if unbounded.
    pub fn add(&mut self, tokens: Option<u64>, most: Option<u64>) {
        self.known += tokens.unwrap_or(0);
        self.most = self.most.zip(tokens.or(most)).map(|(sum, it)| sum.saturating_add(it));
    }
}

/// Whether the server's engine counts each request of the run exactly once. It counts more if a prompt has several answers, or if the server runs its
/// own tools in a loop: each answer and each turn is a request for the engine.
pub(super) fn has_one_answer_each(workload: &Workload) -> bool {
    let of_classes = workload.classes.classes.iter().map(|it| &it.extra);
    let mut fields = iter::once(&workload.sampling.extra).chain(of_classes).flat_map(Extra::iter);
    fields.all(|(name, value)| match name {
        "n" | "best_of" => value.as_u64() == Some(1),
        "use_beam_search" => value.as_bool() == Some(false),
        "tools" => value.as_array().is_some_and(|tools| tools.iter().all(|it| it["type"] == "function")),
        _ => true,
    })
}

/// Maximum number of requests that the servers can have finished for a load: all due requests with any outcome, including warm-up, probes, and
/// requests that were sent again.
pub(super) fn most_requests(recorder: &Recorder) -> u64 {
    let of_stage = |it: &StageTally| {
        let excluded: u64 = it.excluded.values().flat_map(BTreeMap::values).sum();
        it.requests() + excluded + it.retried
    };
    recorder.stages.iter().chain(&recorder.probes).map(of_stage).sum()
}

/// The tokens of all sent requests, from the usage of their answers. Requests that failed, ended early or have no usage widen the range. `None` if
/// the run had probe requests, because their usage is not recorded.
pub(super) fn client_tokens(recorder: &Recorder) -> Option<ClientTokens> {
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
    // A prompt of random words is at most about a tenth longer than requested, and the server can add the tokens of its chat template.
    let prompt = record.requested_input_tokens.map(|it| u64::from(it) + u64::from(it) / 10 + MAX_TEMPLATE_TOKENS);
    tokens.prompt.add(whole(record.input_tokens), prompt);
    tokens.output.add(whole(record.output_tokens), record.requested_output_tokens.map(u64::from));
}

/// Adds a stage without records. The requested lengths of single requests are then unknown, so a single request without usage leaves the upper bound
/// open.
fn add_stage(tokens: &mut ClientTokens, stage: &StageTally) {
    let succeeded = stage.succeeded();
    let all_ok = stage.excluded.is_empty() && stage.requests() == succeeded;
    let (prompt, output) = (stage.input_tokens_total, stage.output_tokens_of_ended);
    let all_told = stage.with_usage == succeeded;
    let range = |known: u64| TokenRange { known, most: Some(known).filter(|_| all_ok && all_told) };
    // Without usage, the launcher counts events instead of tokens. That count is not comparable with the server's count.
    let ranges = [(&mut tokens.prompt, range(prompt)), (&mut tokens.output, range(if all_told { output } else { 0 }))];
    for (sum, it) in ranges {
        *sum = TokenRange {
            known: sum.known + it.known,
            most: sum.most.zip(it.most).map(|(sum, most)| sum.saturating_add(most)),
        };
    }
}

/// Assumed maximum number of tokens that a chat template adds to a prompt.
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
    fn a_request_without_usage_widens_the_range() {
        let mut range = TokenRange::exact(10);
        range.add(Some(5), Some(100));
        assert_eq!(range.whole(), Some(15));
        range.add(None, Some(100));
        assert_eq!((range, range.whole()), (TokenRange { known: 15, most: Some(115) }, None));
        range.add(None, None);
        range.add(Some(1), None);
        assert_eq!((range, range.whole()), (TokenRange { known: 16, most: None }, None));
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
        // A broken stream has reported token counts so far, and the server might have counted more.
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
}
