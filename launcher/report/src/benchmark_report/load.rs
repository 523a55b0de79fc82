//! The load of a stage in the standard report: lengths, prefixes, rate, and the profile itself.

use serde_json::{Map, Value, json};
use workload_profiles::workload::{LengthDistribution, OutputLength, PromptText, RequestSource, Shape};

use super::values::insert;
use analysis::StageAnalysis;
use document::{Parts, TOOL, TOOL_VERSION, redact::profile_value};

/// The load of a stage. `None` if the prompt length is unknown, because the format requires a prompt length.
pub(super) fn load(report: &Parts<'_>, stage: &StageAnalysis, index: usize) -> Option<Value> {
    let mut load = Map::new();
    load.insert("tool".into(), json!(TOOL));
    load.insert("tool_version".into(), json!(TOOL_VERSION));
    load.insert("parallelism".into(), json!(1));
    load.insert("stage".into(), json!(index));
    let fixed;
    let (source, input, output) = match &report.workload.requests {
        RequestSource::Mock => ("unknown", seen(stage)?, None),
        RequestSource::DataSet(set) => {
            let output = match set.output {
                OutputLength::Fixed(output) => {
                    fixed = LengthDistribution::fixed(output);
                    Some(&fixed)
                }
                _ => None,
            };
            ("sampled", seen(stage)?, output)
        }
        RequestSource::Questions(questions) => {
            fixed = LengthDistribution::fixed(questions.max_tokens);
            ("sampled", seen(stage)?, Some(&fixed))
        }
        RequestSource::Conversations(conversations) => ("random", seen(stage)?, Some(&conversations.turn.output)),
        RequestSource::TraceBlocks { .. } | RequestSource::Recorded(_) => ("sampled", seen(stage)?, None),
        RequestSource::Random { input, output, text, .. } => {
            let source = match text {
                PromptText::Words | PromptText::TokenIds(_) => "random",
                PromptText::Prose => "sampled",
            };
            (source, length(input), Some(output))
        }
        RequestSource::SharedPrefix {
            groups, prompts_per_group, system_prompt_len, question_len, output_len, ..
        } => {
            let prefix = json!({
                "prefix_len": length(system_prompt_len),
                "num_groups": groups,
                "num_users_per_group": prompts_per_group,
                "num_prefixes": 1,
            });
            load.insert("prefix".into(), prefix);
            ("random", sum(system_prompt_len, question_len), Some(output_len))
        }
    };
    load.insert("source".into(), json!(source));
    load.insert("input_seq_len".into(), input);
    // Without `ignore_eos`, the requested output length is only an upper limit, because the model can end its answer earlier.
    if let Some(output) = output.filter(|_| report.workload.sampling.ignore_eos) {
        load.insert("output_seq_len".into(), length(output));
    }
    if let Some(rate) = stage.asked_rate {
        load.insert("rate_qps".into(), json!(rate));
    }
    if let Some(concurrency) = stage.stage.load.max_concurrency() {
        load.insert("concurrency".into(), json!(concurrency));
    }
    Some(Value::Object(load))
}

/// The prompt lengths that the server counted.
fn seen(stage: &StageAnalysis) -> Option<Value> {
    let isl = stage.figures.isl?;
    Some(json!({"distribution": "other", "value": isl.mean, "min": isl.min as u64, "max": isl.max as u64}))
}

fn length(of: &LengthDistribution) -> Value {
    let mut length = Map::new();
    let (name, spread) = match of.shape {
        Shape::Fixed => return json!({"distribution": "fixed", "value": of.mean}),
        Shape::Normal => ("gaussian", Some(of.std_dev)),
        Shape::Uniform => ("uniform", None),
        Shape::Lognormal | Shape::SkewNormal { .. } | Shape::Poisson => ("other", Some(of.std_dev)),
    };
    let value = if of.shape == Shape::Uniform { f64::midpoint(f64::from(of.min), f64::from(of.max)) } else { of.mean };
    length.insert("distribution".into(), json!(name));
    length.insert("value".into(), json!(value));
    if let Some(std_dev) = spread {
        length.insert("std_dev".into(), json!(std_dev));
    }
    length.insert("min".into(), json!(of.min));
    // The format requires at least 1.
    length.insert("max".into(), json!(of.max.max(1)));
    Value::Object(length)
}

/// The total length of a prefix and a question.
fn sum(prefix: &LengthDistribution, question: &LengthDistribution) -> Value {
    let value = prefix.mean + question.mean;
    if prefix.shape == Shape::Fixed && question.shape == Shape::Fixed {
        return json!({"distribution": "fixed", "value": value});
    }
    let (min, max) = (u64::from(prefix.min) + u64::from(question.min), u64::from(prefix.max) + u64::from(question.max));
    json!({"distribution": "other", "value": value, "min": min, "max": max.max(1)})
}

/// The rendered profile, the run's own settings, and all profile keys that were ignored or changed.
pub(super) fn native(report: &Parts<'_>) -> Value {
    let run = report.run;
    let notices: Vec<String> = report.notices.iter().map(|it| format!("{}: {}", it.path, it.message)).collect();
    let mut native = Map::new();
    let args = json!({
        "harness": run.harness.name(),
        "profile": run.profile_source,
        "seed": run.seed,
        "ignored_or_changed": notices,
    });
    native.insert("args".into(), args);
    insert(&mut native, "config", profile_value(report.profile_text));
    Value::Object(native)
}
