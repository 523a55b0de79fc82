//! Translates a workload-profile template into a [`Workload`].
//!
//! Template -> `render` -> text -> `overrides` -> tree of values -> `formats` -> [`Workload`]. This crate reads no file, no environment variable and
//! no clock. The input comes from users and can be hostile: every step has a bound, and everything that is wrong becomes a [`ProfileError`] with a
//! line for each problem.

pub mod filter;
mod formats;
mod objectives;
mod overrides;
mod places;
mod problem;
mod profiling;
mod reader;
mod render;
mod shipped;
mod variables;
pub mod workload;
mod yaml;

use std::collections::BTreeMap;

use crds::{
    AnyValue, any_value,
    benchmark_run::{Api, BenchmarkRunSpec, Harness},
    resolve::{FieldError, ProfileSource, ResolvedRun, RunIdentity, Settings, resolve_profile},
};
use serde_json::Value;

use crate::{
    formats::Target,
    overrides::Applied,
    problem::{Findings, named, quoted},
    reader::described,
    workload::{AnswerScoring, DataSet, PromptForm, RequestSource},
};
pub use crate::{
    formats::{loadgen, recognise, unrecognised},
    problem::{Notice, Problem, ProfileError},
    profiling::{profiled_stage, profiling_start},
    render::{TemplateVariable, template_variables},
    shipped::{shipped, shipped_names},
    variables::Variables,
    workload::Workload,
};

/// A profile that is ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The text of `profile.yaml`. [`parse`] reads it back to the same workload. Without overrides it is the rendered text with its comments. With
    /// overrides it is written again from the values, without comments.
    pub text: String,
    /// The load that the profile describes.
    pub workload: Workload,
    /// Notices about keys whose effect may surprise the profile's author.
    pub notices: Vec<Notice>,
}

/// Returns the variables that a template can use: the facts of the run, and the user's variables.
///
/// # Errors
/// Returns every user variable whose name is already taken or is not an identifier, or whose value is too long.
pub fn variables(run: &ResolvedRun, user: &BTreeMap<String, AnyValue>) -> Result<Variables, ProfileError> {
    let findings = Findings::default();
    for (name, value) in user {
        if value.0.is_null() || value.0.is_object() || value.0.is_array() {
            let wanted = "write a text, a number, true or false; a list as a text, such as \"[1, 2, 4]\"";
            findings
                .problem(format!("profile.variables.{}", named(name)), format!("is {}; {wanted}", described(&value.0)));
        }
    }
    findings.into_result()?;
    Variables::new(run, &any_value::texts(user))
}

/// Renders a template, applies overrides, and reads the result. The run's model and API replace the profile's.
///
/// # Errors
/// Returns all problems together. Only a template that cannot be rendered, or text that is not YAML, stops the check early.
pub fn prepare(
    run: &ResolvedRun,
    template: &str,
    variables: &Variables,
    overrides: &BTreeMap<String, String>,
) -> Result<Prepared, ProfileError> {
    let mut text = render::render(template, variables)?;
    let (mut profile, odd) = read_text(&text).map_err(|problem| with_variables(problem.into(), variables))?;
    let findings = Findings::default();
    let applied = overrides::apply(&mut profile, overrides, (formats::format(run.harness).root_keys)(), &findings);
    if !applied.is_empty() {
        text = match &profile {
            Value::String(command) => format!("{command}\n"),
            other => yaml::write(other),
        };
    }
    let read = read(run.harness, Target::from_run(run), &profile, &findings).map(|it| with_target(it, run, &findings));
    findings.add_new(odd.into_iter().filter(|it| !applied.iter().any(|set| set.path == it.path)));
    findings.refuse_unknown_keys(|path| applied.iter().any(|set| set.path == path));
    match (read, findings.into_result()) {
        (Some(workload), Ok(notices)) => Ok(Prepared { text, workload, notices }),
        (_, Ok(_)) => Err(unexplained()),
        (_, Err(error)) => Err(with_variables(with_overrides(error, &applied), variables)),
    }
}

/// Checks the profile of a spec that has other errors, so that the author sees all errors together. Returns no error if the profile is correct, or if
/// the other errors prevent the check. Profiles in ConfigMaps are not checked.
pub fn errors_beside_others(identity: &RunIdentity, spec: &BenchmarkRunSpec, settings: &Settings) -> Vec<FieldError> {
    let Some(run) = resolve_profile(identity, spec, settings) else { return Vec::new() };
    let template = match ProfileSource::from_spec(spec) {
        ProfileSource::Inline(text) => Ok(text),
        ProfileSource::Shipped(name) => shipped(run.harness, &name).map(str::to_owned),
        ProfileSource::ConfigMap(_) => return Vec::new(),
    };
    let prepared = template.and_then(|template| {
        let variables = variables(&run, &spec.profile.variables)?;
        prepare(&run, &template, &variables, &any_value::texts(&spec.profile.overrides))
    });
    let problems = prepared.err().map(|it| it.problems).unwrap_or_default();
    let error = |Problem { path, message }: Problem| match path.starts_with("spec.") {
        true => FieldError { path, message },
        false => FieldError { path: format!("spec.profile: {path}"), message },
    };
    problems.into_iter().take(MAX_BESIDE_OTHERS).map(error).collect()
}

/// Maximum number of profile errors that are reported together with the other errors of the spec.
const MAX_BESIDE_OTHERS: usize = 16;

/// Reads a profile that [`prepare`] rendered. The launcher in a pod calls it.
///
/// # Errors
/// Returns all problems together. Only text that is not YAML stops the check early.
pub fn parse(run: &ResolvedRun, text: &str) -> Result<(Workload, Vec<Notice>), ProfileError> {
    parse_with(run.harness, Target::from_run(run), text, |workload, findings| with_target(workload, run, findings))
}

/// Returns the base URL of the server that the profile itself names, such as the `--base-url` of a command line, without a trailing `/v1`. `None` if
/// the profile names no URL or cannot be read.
pub fn named_url(harness: Harness, text: &str) -> Option<String> {
    let (profile, _) = read_text(text).ok()?;
    let findings = Findings::default();
    formats::parse(harness, &profile, Target::default(), &findings);
    let url = findings.named_url()?;
    let is_url = url.starts_with("http://") || url.starts_with("https://");
    is_url.then(|| url.trim_end_matches('/').trim_end_matches("/v1").to_owned())
}

/// Reads a profile without the settings of a run.
#[cfg(test)]
fn parse_text(harness: Harness, target: Target, text: &str) -> Result<(Workload, Vec<Notice>), ProfileError> {
    parse_with(harness, target, text, |workload, _| workload)
}

fn parse_with(
    harness: Harness,
    target: Target,
    text: &str,
    complete: impl FnOnce(Workload, &Findings) -> Workload,
) -> Result<(Workload, Vec<Notice>), ProfileError> {
    let (profile, odd) = read_text(text)?;
    let findings = Findings::default();
    let read = read(harness, target, &profile, &findings).map(|it| complete(it, &findings));
    findings.add_new(odd);
    let notices = findings.into_result()?;
    read.map(|workload| (workload, notices)).ok_or_else(unexplained)
}

/// Reads the text of a profile as YAML. A shell script is converted to one string with its command line, because YAML would misread it. Also returns
/// a problem for each single value that cannot be used.
fn read_text(text: &str) -> Result<(Value, Vec<Problem>), Problem> {
    if formats::script::is_script(text) {
        let command = formats::script::command(yaml::bounded(text)?);
        let command = command.map_err(|error| Problem::new("profile", error.to_string()))?;
        return Ok((Value::String(command), Vec::new()));
    }
    yaml::read_all(text)
}

fn read(harness: Harness, target: Target, profile: &Value, findings: &Findings) -> Option<Workload> {
    let read = formats::parse(harness, profile, target, findings);
    // Reports placeholders without a value, except under keys that have no effect.
    let unfilled = Findings::default();
    yaml::report_unfilled(profile, "", &unfilled);
    if let Err(error) = unfilled.into_result() {
        findings.add_first(error.problems);
    }
    read
}

/// Replaces the workload's model and API with those that the run names, if any. Checks that the API supports the requests. The check is here because
/// the API can still change before this point.
fn with_target(workload: Workload, run: &ResolvedRun, findings: &Findings) -> Workload {
    let api = run.api.unwrap_or(workload.api);
    let key = match (run.api, run.harness) {
        (Some(_), _) => "target.api of the run",
        (None, Harness::InferencePerf) => "api.type",
        (None, _) => "api",
    };
    if !api.has_messages() && workload.images.is_some() {
        let path = match run.harness {
            Harness::Benchwright => "images",
            Harness::InferencePerf => "data.multimodal",
            _ => "profile",
        };
        let message = format!("asks for images, but {key} is completions, which hold none; set {key} to chat");
        findings.problem(path, message);
    }
    if api.has_messages() && workload.requests.form() == PromptForm::TokenIds {
        let (path, remedy) = match (&workload.loadgen, &workload.requests) {
            (None, RequestSource::DataSet(DataSet { chat_template: Some(_), .. })) => {
                (RENDERED, "take it out, because the server renders the messages of a chat itself")
            }
            (None, RequestSource::DataSet(_)) => {
                ("requests.dataSet.row.prompt.form", "write text, and a column that holds it")
            }
            (None, _) => ("requests.random.text", "write words or prose"),
            (Some(_), RequestSource::DataSet(_)) => ("dataset.file.form", "write text, and a column that holds it"),
            (Some(_), _) => ("dataset.synthetic.text", "write words or prose"),
        };
        let what = if path == RENDERED { "makes token ids of the rows" } else { "is tokenIds" };
        let cannot = format!("but {key} is {}, which cannot hold token ids", api_name(api));
        findings.problem(path, format!("{what}, {cannot}; {remedy}, or set {key} to completions"));
    }
    if let RequestSource::Questions(questions) = &workload.requests {
        if questions.scoring != AnswerScoring::Text && !matches!(api, Api::Completions | Api::Chat) {
            let message = format!(
                "is logprobs, but {key} is {}, which gives no log probabilities; set {key} to completions or chat, or scoring to text",
                api_name(api)
            );
            findings.problem("scoring", message);
        }
        if questions.max_prompt_tokens.is_some() && workload.tokenizer.is_none() {
            let remedy = "write the path of the model's tokenizer.json in tokenizer";
            findings.problem("maxPromptTokens", format!("counts tokens, and no tokenizer is named; {remedy}"));
        }
    }
    objectives::check(run.slo.as_ref(), &workload, findings);
    profiling::check(run.profiling.as_ref(), &workload, findings);
    Workload { model: run.model.clone().or(workload.model), api, ..workload }
}

/// The key that makes the launcher render the rows of a data set with a chat template.
const RENDERED: &str = "requests.dataSet.chatTemplate";

/// The name of an API in profiles.
fn api_name(api: Api) -> &'static str {
    match api {
        Api::Completions => "completions",
        Api::Chat => "chat",
        Api::Responses => "responses",
        Api::Messages => "messages",
    }
}

/// The error for a parser that returned neither a workload nor a problem. This is a bug in the parser.
fn unexplained() -> ProfileError {
    ProfileError::one(
        "profile",
        "cannot be read, and its parser gave no reason; this is a bug, report it with the profile",
    )
}

/// Adds to each problem the override that set the value.
fn with_overrides(mut error: ProfileError, applied: &[Applied]) -> ProfileError {
    for problem in &mut error.problems {
        if let Some(by) = applied.iter().find(|it| it.path == problem.path) {
            problem.message.push_str(&format!(" (set by profile.overrides.{})", named(&by.key)));
        }
    }
    error
}

/// Names a variable in each problem whose message contains the variable's value, because this value probably comes from the variable.
fn with_variables(mut error: ProfileError, variables: &Variables) -> ProfileError {
    let user: Vec<(&str, &str)> = variables.by_user().filter_map(|it| Some((it, variables.get(it)?))).collect();
    let plain = |it: &str| it.chars().all(|it| it.is_alphanumeric() || "._-/".contains(it));
    for problem in &mut error.problems {
        let found = problem.message.split("; ").next().unwrap_or_default();
        let by = user.iter().find(|(_, value)| match found.strip_prefix("is ") {
            // A value with special YAML characters may have made the text unreadable.
            Some(words) if words.starts_with("no readable YAML") => !plain(value),
            Some("empty") => value.is_empty(),
            Some(shown) => yaml::typed(value).is_ok_and(|it| described(&it) == shown),
            None => false,
        });
        if let Some((name, value)) = by {
            problem.message.push_str(&format!(" (profile.variables.{name} is {})", quoted(value)));
        }
    }
    error
}

#[cfg(test)]
mod tests;
