//! The shipped profiles. They are compiled in, so no file is read at run time.

use crds::benchmark_run::Harness;

use crate::{
    formats,
    problem::{ProfileError, quoted, suggestion},
};

/// The names of the profiles that ship for a harness, sorted.
pub fn shipped_names(harness: Harness) -> Vec<&'static str> {
    formats::format(harness).shipped.iter().map(|(name, _)| *name).collect()
}

/// Returns the template of a shipped profile. `name` can end with `.yaml` or `.yaml.in`.
///
/// # Errors
/// Returns an error for an unknown name. The message suggests the nearest known name.
pub fn shipped(harness: Harness, name: &str) -> Result<&'static str, ProfileError> {
    let plain = name.trim_end_matches(".in").trim_end_matches(".yaml");
    let found = formats::format(harness).shipped.iter().find(|(known, _)| *known == plain).map(|(_, text)| *text);
    found.ok_or_else(|| {
        let remedy = suggestion(plain, shipped_names(harness));
        ProfileError::one(
            "profile.name",
            format!("{} is not a shipped profile of {}; {remedy}", quoted(name), harness.name()),
        )
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// Returns the variables that a shipped profile requires: the locations of its data.
    pub(crate) fn required(name: &str) -> &'static [&'static str] {
        match name {
            "chatbot_sharegpt" => &["dataset_file=/data/sharegpt.json"],
            "otel_traces" | "agent_llm_traces_v2" | "weka_traces" => &["dataset_dir=/data/traces"],
            _ => &[],
        }
    }

    #[test]
    fn the_table_holds_every_file_of_the_folder() {
        for harness in Harness::ALL {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(harness.name());
            let mut files: Vec<String> = fs::read_dir(folder)
                .into_iter()
                .flatten()
                .map(|it| it.unwrap().file_name().into_string().unwrap())
                .collect();
            files.sort();
            let table: Vec<String> = shipped_names(harness).iter().map(|it| format!("{it}.yaml.in")).collect();
            assert_eq!(table, files);
        }
    }

    #[test]
    fn a_name_finds_its_profile_or_the_nearest_one() {
        let names = ["llama3.1-8b-offline.yaml", "llama3.1-8b-offline.yaml.in", "llama3.1-8b-offline"];
        assert!(names.iter().all(|it| shipped(Harness::Loadgen, it) == shipped(Harness::Loadgen, names[0])));
        assert!(shipped(Harness::Loadgen, names[0]).is_ok());
        let harness = Harness::InferencePerf;
        assert_eq!(shipped(harness, "sanity_random.yaml.in"), shipped(harness, "sanity_random"));
        assert_eq!(
            shipped(harness, "sanity_randon").unwrap_err().to_string(),
            "profile.name: \"sanity_randon\" is not a shipped profile of inference-perf; did you mean sanity_random?"
        );
    }
}
