//! [I/O] Compares the cluster's definitions of BenchmarkRun and BenchmarkSchedule with the definitions of this release. It reads them from the API
//! server's OpenAPI document, which every user may read.

use std::collections::BTreeSet;

use crds::{
    BenchmarkRun, BenchmarkSchedule,
    benchmark_run::{self, GROUP, VERSION},
    benchmark_schedule,
};
use kube::CustomResourceExt as _;
use serde_json::Value;

use super::finding::Finding;
use crate::{connection::Connection, failure::code_of};

const SUBJECT: &str = "definition";
/// Maximum number of field names in one line.
const MAX_NAMED: usize = 4;

pub(super) async fn check(connection: &Connection) -> Finding {
    let request = http::Request::get(format!("/openapi/v3/apis/{GROUP}/{VERSION}")).body(Vec::new());
    let Ok(request) = request else { return Finding::ok(SUBJECT, "") };
    let document: Value = match connection.client.request(request).await {
        Ok(document) => document,
        Err(error) if code_of(&error) == Some(404) => {
            return Finding::failed(SUBJECT, "the cluster does not know BenchmarkRuns; install the chart");
        }
        Err(error) => return Finding::not_checked(SUBJECT, "get the schema of BenchmarkRuns", &error),
    };
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let spec = |kind: &str| {
        let named = schemas.into_iter().flatten().find(|(name, _)| name.ends_with(&format!(".{kind}")));
        named.and_then(|(_, it)| it.pointer("/properties/spec")).cloned()
    };
    let Some(run) = spec(benchmark_run::KIND) else {
        return Finding::failed(SUBJECT, "the API server publishes no schema of BenchmarkRun; install the chart again");
    };
    compare(&fields(&run, spec(benchmark_schedule::KIND)), &ours())
}

/// The paths of the spec fields in this release.
fn ours() -> BTreeSet<String> {
    let spec = |definition: serde_json::Result<Value>| {
        let definition = definition.unwrap_or_default();
        definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").cloned()
    };
    let run = spec(serde_json::to_value(BenchmarkRun::crd())).unwrap_or_default();
    fields(&run, spec(serde_json::to_value(BenchmarkSchedule::crd())))
}

fn compare(theirs: &BTreeSet<String>, ours: &BTreeSet<String>) -> Finding {
    let named = |fields: Vec<&String>| {
        let count = fields.len();
        let names: Vec<&str> = fields.iter().take(MAX_NAMED).map(|it| it.as_str()).collect();
        let more = count.checked_sub(MAX_NAMED).filter(|it| *it > 0).map(|it| format!(" and {it} more"));
        names.join(", ") + &more.unwrap_or_default()
    };
    let missing: Vec<&String> = ours.difference(theirs).collect();
    let further: Vec<&String> = theirs.difference(ours).collect();
    match (missing.is_empty(), further.is_empty()) {
        (true, true) => Finding::ok(
            SUBJECT,
            format!("BenchmarkRun and BenchmarkSchedule {VERSION}, with the fields of this release"),
        ),
        (false, true) => Finding::warning(
            SUBJECT,
            format!(
                "from an older release than this plugin: it has no {}; upgrade the chart, or install the plugin of the chart's release",
                named(missing)
            ),
        ),
        (true, false) => Finding::warning(
            SUBJECT,
            format!(
                "from a newer release than this plugin: it also has {}; install the plugin of that release",
                named(further)
            ),
        ),
        (false, false) => Finding::warning(
            SUBJECT,
            format!(
                "from another release than this plugin: it has no {}, but {}; install the plugin of the chart's release",
                named(missing),
                named(further)
            ),
        ),
    }
}

/// The paths of all spec fields of a run, and of a schedule without its run template.
fn fields(run: &Value, schedule: Option<Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(run, "spec", &mut found);
    if let Some(mut schedule) = schedule {
        if let Some(template) = schedule.pointer_mut("/properties/runTemplate") {
            template.take();
        }
        found.insert(benchmark_schedule::KIND.to_owned());
        collect(&schedule, &format!("{}.spec", benchmark_schedule::KIND), &mut found);
    }
    found
}

fn collect(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}.{name}");
        collect(field, &path, found);
        found.insert(path);
    }
    for part in ["items", "additionalProperties"] {
        if let Some(part) = schema.get(part) {
            collect(part, &format!("{path}[]"), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::State, *};

    fn assert_compared(change: impl FnOnce(&mut BTreeSet<String>), state: State, part: &str) {
        let mut theirs = ours();
        change(&mut theirs);
        let found = compare(&theirs, &ours());
        assert!(found.state == state && found.text.contains(part), "{found:?}");
    }

    #[test]
    fn the_fields_say_which_release_it_is() {
        assert!(ours().len() > 80, "{:?}", ours());
        assert!(ours().contains("spec.slo.objectives[].metric"), "{:?}", ours());
        assert_compared(|_| {}, State::Ok, "with the fields of this release");
        let older = "an older release than this plugin: it has no spec.seed; upgrade the chart";
        assert_compared(|it| assert!(it.remove("spec.seed")), State::Warning, older);
        let without = "an older release than this plugin: it has no BenchmarkSchedule, BenchmarkSchedule.spec";
        assert_compared(|it| it.retain(|it| it.starts_with("spec")), State::Warning, without);
        let newer = "a newer release than this plugin: it also has spec.later; install the plugin of that release";
        assert_compared(|it| assert!(it.insert("spec.later".into())), State::Warning, newer);
        let more = "spec.a, spec.b, spec.c, spec.d and 1 more";
        let add = |it: &mut BTreeSet<String>| it.extend(["a", "b", "c", "d", "e"].map(|it| format!("spec.{it}")));
        assert_compared(add, State::Warning, more);
    }
}
