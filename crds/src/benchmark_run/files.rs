//! Files that a profile reads beside itself: recorded traces and prompts.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::{BenchmarkRunSpec, KeyRef};
use crate::resolve::{FieldError, claim, mounts};

/// The most entries of a profile's files.
pub const MAX_FILES: usize = 16;
/// The names of the operator's own files in the folder.
const RESERVED: [&str; 2] = ["run.yaml", "profile.yaml"];

/// Where files come from. Exactly one of configMapRef and claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("has(self.configMapRef) != has(self.claim)").message("set exactly one of configMapRef and claim"))
)]
pub struct ProfileFile {
    /// One key of a ConfigMap. It becomes a file of the key's name in the folder of the profile, which finds it by that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<KeyRef>,

    /// A whole volume, mounted read-only under /data and the claim's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimRef>,
}

/// A PersistentVolumeClaim in the namespace of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ClaimRef {
    /// Its name; it has to exist.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub claim_name: String,
}

/// What cannot be mounted as it is asked for.
pub(crate) fn errors(spec: &BenchmarkRunSpec) -> Vec<FieldError> {
    let files = &spec.profile.files;
    let mut errors = Vec::new();
    let mut add = |path: String, message: String| errors.push(FieldError { path, message });
    if files.len() > MAX_FILES {
        add("spec.profile.files".into(), format!("has {} entries, and {MAX_FILES} are allowed", files.len()));
    }
    let results = claim(spec).map(|it| it.claim_name);
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
                    add(path, format!("is {key:?}, as of an earlier entry, and both would be one file; rename a key"));
                }
            }
            (None, Some(claim)) => {
                let name = &claim.claim_name;
                let taken = before.iter().filter_map(|it| it.claim.as_ref()).any(|it| it.claim_name == *name);
                let path = format!("{path}.claim.claimName");
                if !is_object_name(name) {
                    add(path, format!("is {name:?}, which is no name of a claim; use a-z, 0-9, - and ."));
                } else if taken {
                    add(path, format!("is {name:?}, as of an earlier entry; keep one of them"));
                } else if results.as_ref() == Some(name) {
                    let results = mounts::RESULTS;
                    add(path, format!("is {name:?}, the claim of the results; its files are under {results} already"));
                }
            }
            _ => add(path, "needs exactly one of configMapRef and claim".into()),
        }
    }
    errors
}

/// Whether a name can be one of a file in a mounted ConfigMap; Kubernetes keeps names with two dots before them for itself.
fn is_file_name(name: &str) -> bool {
    let allowed = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
    !name.is_empty() && name != "." && !name.starts_with("..") && name.bytes().all(allowed)
}

/// Whether an object can have this name: it becomes part of a URL, and of a path.
pub fn is_object_name(name: &str) -> bool {
    let edge = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().last()];
    ends.into_iter().all(|it| it.is_some_and(edge)) && name.bytes().all(|it| edge(it) || it == b'-' || it == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &str, expected: &[&str]) {
        let spec = format!("{{target: {{simulator: {{}}}}, profile: {{files: {files}}}}}");
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(&spec).unwrap();
        let found: Vec<_> = errors(&spec).iter().map(ToString::to_string).collect();
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
        for name in ["run.yaml", "profile.yaml"] {
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
        let spec = format!("{{target: {{simulator: {{}}}}, profile: {{files: [{many}]}}}}");
        assert!(errors(&serde_saphyr::from_str(&spec).unwrap())[0].to_string().contains("17 entries, and 16"));
    }
}
