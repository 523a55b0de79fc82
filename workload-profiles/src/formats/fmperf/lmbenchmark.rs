//! LMBenchmark: users who send requests in rounds, or conversations from ShareGPT. Each run has a list of rates.

use crds::{benchmark_run::Api, units::RequestRate};
use serde_json::Value;

use super::{
    classes::extra,
    place::place,
    scenario::{self, Scenario},
    sharegpt, users,
};
use crate::{
    formats::{
        common::{
            bounds::MAX_STAGES,
            target::{check_url, model},
        },
        target::Target,
    },
    problem::quoted,
    reader::{Section, ValueType, described},
    workload::{AfterFailure, PromptReuse, Sampling, Sessions, Workload},
    yaml::decimal,
};

/// The default rates.
const DEFAULT_RATES: &str = "0.5 0.67 0.84 1.0 1.17 1.34";

/// The lowest rate: one request in 1,000 s.
const LEAST_RATE: f64 = 0.001;

/// A rate, and the text of the rate for the name of its stage.
pub(super) type NamedRate = (String, RequestRate);

/// Reads a profile. Returns `None` if at least one problem was reported.
pub(super) fn read(root: Section, target: Target) -> Option<Workload> {
    let model = model(&root, "model_name", target);
    place(&root);
    check_url(&root, "base_url", target);
    root.ignored("init_user_id", ValueType::Number);
    if root.ignored("chat_template", ValueType::Text) {
        root.notice("chat_template", "is not used: the server applies the template of its model");
    }
    let chat = root.bool("use_chat_completions").unwrap_or(true);
    let scenario = root.or_default("scenarios", Scenario::ShareGpt, scenario::read);
    let rates = rates(&root);
    let content = match scenario {
        Some(Scenario::ShareGpt) => sharegpt::read(&root, rates.as_deref()),
        Some(Scenario::Users(kind)) => users::read(&root, kind, rates.as_deref()),
        // The scenario is unknown. Only to report problems, read the keys as for a scenario with users, because most scenarios have users.
        None => users::read(&root, scenario::LONG_INPUT, rates.as_deref()).filter(|_| false),
    };
    root.finish();
    let (requests, stages) = content?;
    let is_users = !matches!(scenario, Some(Scenario::ShareGpt));
    let sessions =
        Sessions { header: Some("x-user-id".to_owned()), after_failure: AfterFailure::End, ..Sessions::default() };
    Some(Workload {
        model,
        // The texts of a user depend on the user's number. Every run numbers its users from init_user_id, so it repeats the texts of earlier runs.
        prompts: if is_users { PromptReuse::PerStage } else { PromptReuse::Fresh },
        sessions: if is_users { sessions } else { Sessions::default() },
        sampling: Sampling { extra: extra(0), ..Sampling::default() },
        ..Workload::new(if chat { Api::Chat } else { Api::Completions }, requests, stages)
    })
}

/// Reads the rates: a text with blanks between them, one number, or a list.
fn rates(root: &Section) -> Option<Vec<NamedRate>> {
    let words: Vec<(String, String)> = match root.value("qps_values") {
        None => blanks(DEFAULT_RATES),
        Some(Value::String(text)) => blanks(text),
        Some(Value::Number(number)) => vec![("qps_values".to_owned(), number.to_string())],
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(index, it)| (format!("qps_values[{index}]"), it.as_str().map_or(it.to_string(), str::to_owned)))
            .collect(),
        Some(other) => {
            let wanted = "write rates separated by blanks, such as \"0.5 1 2\"";
            root.problem("qps_values", format!("is {}; {wanted}", described(other)));
            return None;
        }
    };
    if words.is_empty() || words.len() > MAX_STAGES / 2 {
        root.problem("qps_values", format!("holds {} rates; write 1 to {}", words.len(), MAX_STAGES / 2));
        return None;
    }
    let count = words.len();
    let rate = |(key, word): (String, String)| {
        let rate = decimal(&word).filter(|it| *it >= LEAST_RATE).and_then(|it| RequestRate::try_from(it).ok());
        if rate.is_none() {
            let wanted = format!("requests per second, {LEAST_RATE} to {}", RequestRate::MAX);
            root.problem(&key, format!("holds {}; write {wanted}, separated by blanks", quoted(&word)));
        }
        rate.map(|rate| (rate.to_string(), rate))
    };
    let rates: Vec<NamedRate> = words.into_iter().filter_map(rate).collect();
    (rates.len() == count).then_some(rates)
}

fn blanks(text: &str) -> Vec<(String, String)> {
    text.split_whitespace().map(|it| ("qps_values".to_owned(), it.to_owned())).collect()
}
