//! The names that a profile template can use, and their values.

use std::collections::BTreeMap;

use crds::resolve::ResolvedRun;
use serde_json::Value;

use crate::{
    problem::{Findings, ProfileError, listed, named, quoted},
    yaml,
};

/// The longest value of a variable, in bytes; the CRD has the same bound.
const MAX_VALUE_BYTES: usize = 1024;
/// The longest name of a variable, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Maximum variables that a user can set; the CRD has the same bound.
const MAX_COUNT: usize = 64;
/// Maximum elements of a list that a user sets.
const MAX_LIST: usize = 256;

/// The names after `REPLACE_ENV_` in llm-d-benchmark's templates, and the corresponding variables.
const ALIASES: [(&str, &str); 6] = [
    ("LLMDBENCH_DEPLOY_CURRENT_MODEL", "model"),
    ("LLMDBENCH_DEPLOY_CURRENT_TOKENIZER", "tokenizer"),
    ("LLMDBENCH_DEPLOY_CURRENT_MAX_MODEL_LEN", "max_model_len"),
    ("LLMDBENCH_HARNESS_STACK_ENDPOINT_URL", "endpoint"),
    ("LLMDBENCH_RUN_DATASET_DIR", "dataset_dir"),
    ("LLMDBENCH_RUN_DATASET_FILE", "dataset_file"),
];

/// The facts of the run that come from outside the profile and can be any text. They are escaped where a template inserts them.
pub(crate) const FACTS: [&str; 5] = ["model", "tokenizer", "endpoint", "name", "namespace"];

/// The variables of a template: the facts of the run, and the user's variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variables {
    /// The value of each variable as text, by the variable's name.
    values: BTreeMap<String, String>,
    /// The names that the user set.
    by_user: Vec<String>,
}

impl Variables {
    /// Collects the facts of the run and the user's variables. The facts are `model` and `tokenizer` (both empty while the model is unknown),
    /// `endpoint`, `seed`, `name` and `namespace`.
    ///
    /// # Errors
    /// Returns every user variable whose name is already taken or is not an identifier, or whose value is too long.
    pub(crate) fn new(run: &ResolvedRun, user: &BTreeMap<String, String>) -> Result<Self, ProfileError> {
        let model = run.model.clone().unwrap_or_default();
        let facts = [
            ("model", model.clone(), "target.model"),
            ("tokenizer", model, "target.model"),
            ("endpoint", run.endpoint.name().to_owned(), "target"),
            ("seed", run.seed.0.to_string(), "seed"),
            ("name", run.run.name.clone(), "metadata.name"),
            ("namespace", run.run.namespace.clone(), "metadata.namespace"),
        ];
        let findings = Findings::default();
        if user.len() > MAX_COUNT {
            findings.problem(
                "profile.variables",
                format!(
                    "holds {} variables; at most {MAX_COUNT} are allowed, write values into the profile",
                    user.len()
                ),
            );
        }
        for (name, value) in user {
            let path = format!("profile.variables.{}", named(name));
            let name_here = ALIASES.iter().find(|(alias, _)| alias == name).map_or(name.as_str(), |(_, it)| it);
            if let Some((_, _, field)) = facts.iter().find(|(fact, _, _)| *fact == name_here) {
                findings.problem(&path, format!("is set by the run itself; take it out, and set {field} instead"));
            } else if !is_identifier(name) {
                let remedy = format!("use at most {MAX_NAME_BYTES} letters, digits and _, and begin with a letter");
                findings.problem(&path, format!("is not a name of a variable; {remedy}"));
            }
            if value.len() > MAX_VALUE_BYTES {
                findings.problem(
                    &path,
                    format!(
                        "is {}, of {} bytes; at most {MAX_VALUE_BYTES} are allowed, shorten it",
                        quoted(value),
                        value.len()
                    ),
                );
            } else if value.trim_start().starts_with('[') {
                check_list(&path, value, &findings);
            }
        }
        findings.into_result()?;
        let mut values: BTreeMap<String, String> = user.clone();
        values.extend(facts.into_iter().map(|(name, value, _)| (name.to_owned(), value)));
        Ok(Variables { values, by_user: user.keys().cloned().collect() })
    }

    /// Returns the names of all variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The names that the user set.
    pub(crate) fn by_user(&self) -> impl Iterator<Item = &str> {
        self.by_user.iter().map(String::as_str)
    }

    /// Returns the value of a variable as text. `name` is the name in the template language.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The name of the variable that fills `REPLACE_ENV_<name>`, if any.
    pub(crate) fn filling(&self, name: &str) -> Option<&str> {
        let name_here = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, it)| *it);
        name_here.into_iter().chain([name]).find_map(|it| self.values.get_key_value(it)).map(|(key, _)| key.as_str())
    }
}

/// Adds a problem if a list is too long, or contains a list or a mapping. A loop in a template supports only numbers, texts and booleans.
fn check_list(path: &str, text: &str, findings: &Findings) {
    match yaml::typed(text) {
        Err(message) => {
            findings.problem(path, format!("begins like a list, but {message}; write a list such as [1, 2, 4]"))
        }
        Ok(Value::Array(items)) if items.len() > MAX_LIST => {
            findings
                .problem(path, format!("holds {} elements; at most {MAX_LIST} are allowed, shorten it", items.len()));
        }
        Ok(Value::Array(items)) if items.iter().any(|it| it.is_array() || it.is_object()) => {
            findings.problem(path, "holds a list or a mapping in its list; write only numbers, texts and booleans");
        }
        Ok(_) => {}
    }
}

fn is_identifier(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// Returns `known are a, b and c`, for a message about an unknown name.
pub(crate) fn known(variables: &Variables) -> String {
    let names: Vec<&str> = variables.names().collect();
    format!("known are {}", listed(&names))
}

#[cfg(test)]
pub(crate) mod tests {
    use crds::{
        benchmark_run::BenchmarkRunSpec,
        resolve::{RunIdentity, Settings, resolve},
    };

    use super::*;

    /// A run against `http://server:8000`, with a model or without.
    pub(crate) fn run(model: &str) -> ResolvedRun {
        let spec = format!("target: {{url: 'http://server:8000', model: '{model}'}}\nseed: 42");
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(&spec).unwrap();
        let identity = RunIdentity::first_attempt("chat", "bench", "u");
        resolve(identity, &spec, &Settings::default()).unwrap()
    }

    /// Returns the variables of [`run`] with user variables, each written as `name=value`.
    pub(crate) fn with(model: &str, user: &[&str]) -> Result<Variables, ProfileError> {
        let user = user.iter().map(|it| it.split_once('=').unwrap()).map(|(name, value)| (name.into(), value.into()));
        Variables::new(&run(model), &user.collect())
    }

    fn check_error(user: &str, expected: &str) {
        assert_eq!(with("m", &[user]).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_run_gives_its_facts() {
        let variables = with("m", &["isl=100"]).unwrap();
        assert_eq!(variables.get("endpoint"), Some("http://server:8000"));
        assert_eq!((variables.get("seed"), variables.get("name")), (Some("42"), Some("chat")));
        assert_eq!((variables.get("isl"), variables.get("osl")), (Some("100"), None));
    }

    #[test]
    fn the_old_names_find_the_new_ones() {
        let variables = with("m", &["max_model_len=8192", "PVC=claim"]).unwrap();
        for (name, expected) in [
            ("LLMDBENCH_DEPLOY_CURRENT_TOKENIZER", Some("tokenizer")),
            ("LLMDBENCH_DEPLOY_CURRENT_MAX_MODEL_LEN", Some("max_model_len")),
            ("LLMDBENCH_RUN_DATASET_DIR", None),
            ("PVC", Some("PVC")),
            ("HOME", None),
        ] {
            assert_eq!(variables.filling(name), expected, "{name}");
        }
        let by_old_name = with("m", &["LLMDBENCH_RUN_DATASET_DIR=/d"]).unwrap();
        assert_eq!(by_old_name.filling("LLMDBENCH_RUN_DATASET_DIR"), Some("LLMDBENCH_RUN_DATASET_DIR"));
    }

    #[test]
    fn a_variable_that_cannot_be_is_refused() {
        check_error(
            "model=x",
            "profile.variables.model: is set by the run itself; take it out, and set target.model instead",
        );
        check_error(
            "LLMDBENCH_HARNESS_STACK_ENDPOINT_URL=x",
            "profile.variables.LLMDBENCH_HARNESS_STACK_ENDPOINT_URL: is set by the run itself; take it out, and set target instead",
        );
        check_error(
            "a-b=x",
            "profile.variables.a-b: is not a name of a variable; use at most 64 letters, digits and _, and begin with a letter",
        );
        assert!(with("m", &["rates=[1, 2"]).unwrap_err().to_string().contains("begins like a list"));
        assert!(with("m", &["rates=[[1]]"]).unwrap_err().to_string().contains("list or a mapping in its list"));
        assert!(with("m", &[&format!("a={}", "x".repeat(2000))]).unwrap_err().to_string().contains("at most 1024"));
    }
}
