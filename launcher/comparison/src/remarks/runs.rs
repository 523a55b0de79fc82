//! Remarks on differences between two runs as a whole.

use ::document::{LoadGenTestDocument, ReportDocument, WarmUpDocument};
use crds::{
    figure::rate_text,
    wording::{cut, one_line},
};
use figures::Figure;
use serde_json::Value;

use super::{
    paths,
    remark::{Remark, Severity},
};

/// Parts of the workload for which there are separate remarks.
const SAID_ELSEWHERE: [&str; 3] = ["stages", "goodput", "model"];

pub(super) fn of_runs(base: &ReportDocument, other: &ReportDocument) -> Vec<Remark> {
    let mut found = Vec::new();
    found.extend(validity(base, other));
    found.extend(currency(base, other));
    found.extend(goals(base, other));
    found.extend(contamination(base, other));
    found.extend(same_texts(base, other));
    let differing = |label: &str, text: fn(&ReportDocument) -> String, meaning: &str| {
        let (one, two) = (text(base), text(other));
        (one != two).then(|| Remark::new(Severity::Note, label, one, two, meaning))
    };
    let release = |it: &ReportDocument| format!("{} ({})", cut(&it.tool_version), cut(&it.tool_commit));
    let server = |it: &ReportDocument| server(it).unwrap_or_else(|| "not said".to_owned());
    let seed = |it: &ReportDocument| it.seeds.run.0.to_string();
    let digest = |it: &ReportDocument| it.inputs.profile_sha256.chars().take(12).collect();
    found.extend(
        [
            differing("launcher", release, "different releases may measure in different ways; measure both runs with the same release"),
            differing("model", |it| cut(&it.model), "tokens of another model may be longer or shorter, which changes every figure in tokens"),
            differing("server", server, "the servers differ, which may be the purpose of the comparison"),
            differing("hardware", hardware, "the servers have different accelerators, which may be the purpose of the comparison"),
            differing("warm-up", warm_up, "one server was warmer when the measurement began; give both runs the same warm-up"),
            differing("seed", seed, "lengths and arrivals were drawn differently, and the intervals allow for that; set spec.seed for the same load"),
            differing("profile", digest, "the profiles differ; differences in the load, if there are any, are listed below"),
            differing("files", files, "the loads read different files, so prompts or times differ; give both runs the same files"),
        ]
        .into_iter()
        .flatten(),
    );
    found.extend(loadgen(base, other));
    found.extend(workload(base, other));
    found
}

/// A remark if a measurement is invalid, because the comparison then cannot decide anything.
fn validity(base: &ReportDocument, other: &ReportDocument) -> Option<Remark> {
    let counts = |it: &ReportDocument| it.outcome.has_valid_figures() && !it.partial;
    let text = |it: &ReportDocument| {
        let reasons = it.reasons.iter().filter(|_| !counts(it)).map(|it| it.reason.clone());
        let partial = it.partial.then(|| "partial".to_owned());
        let words: Vec<String> = [it.outcome.name().to_owned()].into_iter().chain(partial).chain(reasons).collect();
        one_line(&words.join(", "))
    };
    let meaning =
        "figures of an invalid or stopped run do not count; repeat the run: its report.md says what to change";
    let is_wrong = !counts(base) || !counts(other);
    is_wrong.then(|| Remark::new(Severity::NotComparable, "outcome", text(base), text(other), meaning))
}

fn currency(base: &ReportDocument, other: &ReportDocument) -> Option<Remark> {
    let of = |it: &ReportDocument| it.hardware.as_ref().and_then(|it| it.currency.clone());
    let (one, two) = (of(base)?, of(other)?);
    let meaning = "prices in different currencies cannot be compared; give both runs a price in the same currency";
    (one != two).then(|| {
        Remark::new(Severity::NotComparable, "currency", cut(&one), cut(&two), meaning)
            .about(|it| it == Figure::CostPerMillionOutputTokens)
    })
}

fn goals(base: &ReportDocument, other: &ReportDocument) -> Option<Remark> {
    let of = |it: &ReportDocument| it.workload.get("goodput").cloned().unwrap_or_default();
    let (one, two) = (of(base), of(other));
    let meaning =
        "the runs have different goals, so goodput counts different requests; set the same goals in both profiles";
    (one != two).then(|| {
        Remark::new(Severity::NotComparable, "goals", cut(&one.to_string()), cut(&two.to_string()), meaning)
            .about(|it| it == Figure::GoodputRequestsPerSecond)
    })
}

fn contamination(base: &ReportDocument, other: &ReportDocument) -> Option<Remark> {
    let (one, two) = (&base.contamination.exposure, &other.contamination.exposure);
    let is_seen = one == "seen" || two == "seen";
    let severity = if is_seen { Severity::NotComparable } else { Severity::Note };
    let meaning = "one server may have had prompts in its cache before they were measured; restart it, or send prompts that no run has sent";
    (one != two).then(|| Remark::new(severity, "contamination", cut(one), cut(two), meaning))
}

/// A remark if both runs sent the same texts. If the server was not restarted, the second run can have found them in its cache.
fn same_texts(base: &ReportDocument, other: &ReportDocument) -> Option<Remark> {
    let has_texts = |it: &ReportDocument| matches!(it.contamination.prompts.as_str(), "fresh" | "shared" | "replayed");
    let same = base.seeds == other.seeds && base.resolved_run.endpoint == other.resolved_run.endpoint;
    let meaning = "both runs sent the same texts to the same target: the later one may have found them in its cache; leave promptSalt out, or restart the server";
    let salt = cut(&base.seeds.prompt_salt);
    let is_worth_it = same && has_texts(base) && has_texts(other);
    is_worth_it.then(|| Remark::new(Severity::Note, "prompt salt", salt.clone(), salt, meaning))
}

/// How the server identified itself; `None` if it reported nothing.
pub(crate) fn server(report: &ReportDocument) -> Option<String> {
    let server = report.server.as_ref()?;
    let text = |it: &document::IdentityDocument| {
        let name = it.engine.as_ref().map(|name| match &it.version {
            Some(version) => format!("{name} {version}"),
            None => name.clone(),
        });
        let simulator = it.simulator.as_ref().map(|it| format!("simulated by {it}"));
        let root = it.model_root.as_ref().map(|it| format!("model root {it}"));
        let revision = it.model_revision.as_ref().map(|it| format!("revision {it}"));
        let length = it.max_model_len.map(|it| format!("at most {it} tokens"));
        let all: Vec<String> = [name, simulator, root, revision, length].into_iter().flatten().collect();
        one_line(&all.join(", "))
    };
    let before = text(&server.before);
    let after = server.after.as_ref().map(text).filter(|it| *it != before);
    let found = after.map_or(before.clone(), |after| format!("{before}, after the load {after}"));
    Some(found).filter(|it| !it.is_empty())
}

fn hardware(report: &ReportDocument) -> String {
    match &report.hardware {
        None => "not said".to_owned(),
        Some(it) => format!("{} x {}", it.accelerators, cut(it.accelerator.as_deref().unwrap_or("accelerator"))),
    }
}

fn warm_up(report: &ReportDocument) -> String {
    match &report.contamination.warm_up {
        None => "none".to_owned(),
        Some(WarmUpDocument { stages, .. }) => format!("in stages {}", cut(&stages.join(", "))),
    }
}

fn files(report: &ReportDocument) -> String {
    let digest =
        |it: &Option<String>| it.as_ref().map_or_else(|| "unknown".to_owned(), |it| it.chars().take(12).collect());
    let all: Vec<String> = report.inputs.files.iter().map(|it| digest(&it.sha256)).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// Compares LoadGen's verdicts on the tests that both runs have.
fn loadgen(base: &ReportDocument, other: &ReportDocument) -> Vec<Remark> {
    let (Some(base), Some(other)) = (&base.loadgen, &other.loadgen) else { return Vec::new() };
    let text = |it: &LoadGenTestDocument| {
        let rate = |rate: Option<f64>, unit: &str| rate.map(|it| format!("{} {unit}", rate_text(it)));
        let rates = [rate(it.samples_per_second, "samples/s"), rate(it.tokens_per_second, "tokens/s")];
        let words: Vec<String> = [Some(it.result.clone())].into_iter().chain(rates).flatten().collect();
        cut(&words.join(", "))
    };
    let meaning = "LoadGen computed this figure, which has no interval; only a VALID result counts";
    let pairs = base.tests.iter().filter_map(|one| Some((one, other.tests.iter().find(|it| it.folder == one.folder)?)));
    let remark = |(one, two): (&LoadGenTestDocument, &LoadGenTestDocument)| {
        Remark::new(Severity::Note, &format!("LoadGen test {}", cut(&one.folder)), text(one), text(two), meaning)
    };
    pairs.map(remark).collect()
}

/// Compares the workloads, except for their stages, which are compared one by one.
fn workload(base: &ReportDocument, other: &ReportDocument) -> Vec<Remark> {
    let rest = |it: &ReportDocument| {
        let mut workload = it.workload.clone();
        if let Value::Object(fields) = &mut workload {
            fields.retain(|name, _| !SAID_ELSEWHERE.contains(&name.as_str()));
        }
        workload
    };
    let meaning = "the loads differ here, which may cause differences in the figures; use the same profile, unless you compare loads";
    let changes = paths::changes(&rest(base), &rest(other)).into_iter();
    changes.map(|it| Remark::new(Severity::Note, &it.path, it.base, it.other, meaning)).collect()
}
