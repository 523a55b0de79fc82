//! Checks which files a profile can receive, and under which names.

use super::{Errors, claim, mounts};
use crate::benchmark_run::{BenchmarkRunSpec, is_object_name};

/// Maximum number of files per profile.
const MAX_FILES: usize = 16;
/// Names of the operator's own files in the profile's folder.
const RESERVED: [&str; 3] = ["run.yaml", "spec.yaml", "profile.yaml"];

/// Reports files that cannot be mounted.
pub(super) fn check(spec: &BenchmarkRunSpec, errors: &mut Errors) {
    let files = &spec.profile.files;
    let mut add = |path: String, message: String| errors.add(&path, &message);
    if files.len() > MAX_FILES {
        add("spec.profile.files".into(), format!("has {} entries, and {MAX_FILES} are allowed", files.len()));
    }
    let results = claim(&spec.storage).map(|it| it.claim_name);
    for (index, file) in files.iter().enumerate() {
        let path = format!("spec.profile.files[{index}]");
        let before = &files[..index];
        match (&file.config_map_ref, &file.claim) {
            (Some(key), None) => {
                let key = &key.key;
                let taken = before.iter().filter_map(|it| it.config_map_ref.as_ref()).any(|it| it.key == *key);
                let path = format!("{path}.configMapRef.key");
                if !is_file_name(key) {
                    add(path, format!("is {key:?}; use letters, digits, -, _ and ., and no two dots at the beginning"));
                } else if RESERVED.contains(&key.as_str()) {
                    add(path, format!("is {key:?}, a file of the run itself; give the key another name"));
                } else if taken {
                    add(
                        path,
                        format!(
                            "is {key:?}, the key of an earlier entry, and both would be the same file; rename one of them"
                        ),
                    );
                }
            }
            (None, Some(claim)) => {
                let name = &claim.claim_name;
                let taken = before.iter().filter_map(|it| it.claim.as_ref()).any(|it| it.claim_name == *name);
                let path = format!("{path}.claim.claimName");
                if !is_object_name(name) {
                    add(path, format!("is {name:?}, which is no name of a claim; use a-z, 0-9, - and ."));
                } else if taken {
                    add(path, format!("is {name:?}, the name of an earlier entry; keep one of them"));
                } else if results.as_ref() == Some(name) {
                    let results = mounts::RESULTS;
                    add(path, format!("is {name:?}, the claim of the results; its files are under {results} already"));
                }
            }
            _ => add(path, "needs exactly one of configMapRef and claim".into()),
        }
    }
}

/// Whether a name is valid for a file in a mounted ConfigMap. Kubernetes reserves names that begin with two dots.
fn is_file_name(name: &str) -> bool {
    let allowed = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
    !name.is_empty() && name != "." && !name.starts_with("..") && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &str) -> Vec<String> {
        let spec = format!("{{target: {{simulator: {{}}}}, profile: {{files: {files}}}}}");
        let mut errors = Errors::default();
        super::check(&serde_saphyr::from_str(&spec).unwrap(), &mut errors);
        errors.none_or(()).err().iter().flatten().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check(files: &str, expected: &[&str]) {
        let found = problems(files);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found:?} does not hold {expected:?}");
        }
    }

    #[test]
    fn each_file_has_one_source_and_a_name_of_its_own() {
        check("[]", &[]);
        check("[{configMapRef: {name: traces, key: prod.csv}}, {claim: {claimName: datasets}}]", &[]);
        check("[{}]", &["spec.profile.files[0]: needs exactly one"]);
        check("[{configMapRef: {name: a, key: b}, claim: {claimName: c}}]", &["exactly one"]);
        check(
            "[{configMapRef: {name: a, key: x}}, {configMapRef: {name: b, key: x}}]",
            &["files[1].configMapRef.key: is \"x\""],
        );
        check("[{claim: {claimName: a}}, {claim: {claimName: a}}]", &["files[1].claim.claimName"]);
    }

    #[test]
    fn names_that_would_hide_or_leave_the_folder_are_refused() {
        for name in ["run.yaml", "spec.yaml", "profile.yaml"] {
            check(&format!("[{{configMapRef: {{name: a, key: {name}}}}}]"), &["a file of the run itself"]);
        }
        for name in ["..", ".", "../x", "a/b", "..data"] {
            check(&format!("[{{configMapRef: {{name: a, key: {name:?}}}}}]"), &["two dots"]);
        }
        for name in ["../x", "A", "-a", ""] {
            check(&format!("[{{claim: {{claimName: {name:?}}}}}]"), &["no name of a claim"]);
        }
        check("[{claim: {claimName: workload-pvc}}]", &["under /results already"]);
        let many = vec!["{claim: {claimName: a}}"; 17].join(", ");
        assert!(problems(&format!("[{many}]"))[0].contains("17 entries, and 16"));
    }
}
