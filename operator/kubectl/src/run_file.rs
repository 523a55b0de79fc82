//! A file with a BenchmarkRun. It is checked against the schema of this release before it is sent to the API server.

use crds::{
    benchmark_run::{GROUP, KIND, VERSION},
    schema,
    wording::named,
    yaml,
};
use serde_json::Value;

/// Maximum number of problems in one message. A file with more problems probably repeats one mistake.
const MAX_LISTED: usize = 20;

/// A run to create.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunFile {
    /// The object as written.
    pub(crate) object: Value,
    /// The namespace in the file, if it has one.
    pub(crate) namespace: Option<String>,
}

/// Parses a text with a single BenchmarkRun. `path` is its name in messages. The error has one line per problem.
pub(crate) fn parse(path: &str, text: &str) -> Result<RunFile, String> {
    let document = yaml::read(text).map_err(|it| format!("{path}: {it}"))?;
    let document = document.ok_or_else(|| format!("{path}: is empty; write a BenchmarkRun"))?;
    let root = &document.root;
    let header = |key: &str| root.get(key).and_then(|it| it.value.text()).unwrap_or_default().to_owned();
    let (version, kind) = (header("apiVersion"), header("kind"));
    if (version.as_str(), kind.as_str()) != (&format!("{GROUP}/{VERSION}"), KIND) {
        let found = format!("apiVersion {} and kind {}", named(&version), named(&kind));
        return Err(format!(
            "{path}: is of {found}; give a BenchmarkRun of {GROUP}/{VERSION}, and create other objects by `kubectl apply`"
        ));
    }
    let mut problems = document.problems.clone();
    problems.extend(schema::check(root).problems);
    problems.extend(document.ambiguous_keys.clone());
    let object = root.to_json();
    let text_at = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|it| !it.is_empty());
    let mut lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if text_at("/metadata/name").is_none() && text_at("/metadata/generateName").is_none() {
        lines.push("metadata.name: is missing; name the run, or give metadata.generateName, such as chat-".to_owned());
    }
    if lines.is_empty() {
        let namespace = text_at("/metadata/namespace").map(str::to_owned);
        return Ok(RunFile { object, namespace });
    }
    let more = lines.len().saturating_sub(MAX_LISTED);
    lines.truncate(MAX_LISTED);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    Err(format!("{path}: cannot be created:\n  {}", lines.join("\n  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\n";

    fn check(text: &str, expected: &[&str]) {
        let error = parse("run.yaml", text).unwrap_err();
        for part in expected {
            assert!(error.contains(part), "{part:?} is not in {error:?}");
        }
    }

    #[test]
    fn all_faults_of_a_file_are_told_with_field_value_and_remedy() {
        check(
            &format!("{HEAD}metadata: {{}}\nspec:\n  target: {{simulater: {{}}}}\n  seed: x\n"),
            &[
                "spec.target.simulater",
                "did you mean simulator?",
                "spec.seed, line 6",
                "\"x\"",
                "metadata.name: is missing",
            ],
        );
        check("kind: Pod\napiVersion: v1\n", &["kind Pod", "kubectl apply"]);
        check("", &["is empty"]);
        check("a: [", &["run.yaml"]);
        check(&format!("{HEAD}---\n{HEAD}"), &["run.yaml"]);
    }

    #[test]
    fn a_run_may_have_a_generated_name_and_a_namespace() {
        let text = format!(
            "{HEAD}metadata: {{generateName: chat-, namespace: bench}}\nspec: {{target: {{simulator: {{}}}}}}\n"
        );
        let file = parse("run.yaml", &text).unwrap();
        assert_eq!(file.namespace.as_deref(), Some("bench"));
        assert_eq!(file.object["spec"]["target"]["simulator"], serde_json::json!({}));
    }
}
