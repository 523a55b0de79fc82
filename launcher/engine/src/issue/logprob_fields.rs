//! The request fields that request log probabilities. Pure.

use std::{borrow::Cow, collections::BTreeMap};

use crds::benchmark_run::Api;
use serde_json::{Value, json};
use workload_profiles::{
    Workload,
    workload::{AnswerScoring, Extra, RequestSource},
};

/// Returns the workload with the API's fields that request the log probabilities of the most probable tokens, if the scoring needs them.
/// Fields that the workload already sets are kept.
pub(super) fn with_logprob_fields(workload: &Workload, api: Api) -> Cow<'_, Workload> {
    let RequestSource::Questions(questions) = &workload.requests else { return Cow::Borrowed(workload) };
    let AnswerScoring::Logprobs(top) = questions.scoring else { return Cow::Borrowed(workload) };
    let wanted: &[(&str, Value)] = match api {
        Api::Completions => &[("logprobs", json!(top))],
        Api::Chat => &[("logprobs", json!(true)), ("top_logprobs", json!(top))],
        // These APIs have no such fields. Profiles that need log probabilities with them are rejected earlier.
        Api::Responses | Api::Messages => &[],
    };
    let mut fields = BTreeMap::from(workload.sampling.extra.clone());
    for (name, value) in wanted {
        fields.entry((*name).to_owned()).or_insert_with(|| value.clone());
    }
    match Extra::try_from(fields) {
        Ok(extra) => {
            let mut workload = workload.clone();
            workload.sampling.extra = extra;
            Cow::Owned(workload)
        }
        // Together the fields would exceed their length limit. They are omitted, and the run reports that there are no log probabilities.
        Err(_) => Cow::Borrowed(workload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(api: Api, scoring: &Value, expected: &Value) {
        let workload: Workload = serde_json::from_value(json!({
            "api": "OpenAICompletions", "streaming": true, "stages": [],
            "requests": {"questions": {"data": "d", "split": "test", "shots": 0, "format": "original", "scoring": scoring,
                "maxTokens": 1, "domains": "original", "details": true}},
            "sampling": {"ignoreEos": false, "extra": {"temperature": 0}},
        }))
        .unwrap();
        let extra = &with_logprob_fields(&workload, api).sampling.extra;
        assert_eq!(serde_json::to_value(extra).unwrap(), *expected);
    }

    #[test]
    fn each_api_has_fields_of_its_own() {
        let logprobs = json!({"logprobs": 20});
        check(Api::Completions, &logprobs, &json!({"temperature": 0, "logprobs": 20}));
        check(Api::Chat, &logprobs, &json!({"temperature": 0, "logprobs": true, "top_logprobs": 20}));
        check(Api::Chat, &json!("text"), &json!({"temperature": 0}));
    }
}
