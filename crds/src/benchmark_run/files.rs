//! Files that a profile reads in addition to itself: recorded traces and prompts.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::KeyRef;

/// Where a file comes from. Exactly one of configMapRef and claim.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("has(self.configMapRef) != has(self.claim)").message("set exactly one of configMapRef and claim"))
)]
pub struct ProfileFile {
    /// One key of a ConfigMap. It becomes a file in the profile's folder, named like the key. The profile finds it by that name.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "KeyRef"))]
    pub config_map_ref: Option<KeyRef>,

    /// A complete volume, mounted read-only at /data/CLAIMNAME.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ClaimRef"))]
    pub claim: Option<ClaimRef>,
}

/// A PersistentVolumeClaim in the namespace of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ClaimRef {
    /// Name of the claim, which must exist.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub claim_name: String,
}

/// Whether `name` is a valid object name. The check matters because the name becomes part of a URL and of a path.
pub fn is_object_name(name: &str) -> bool {
    let edge = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().last()];
    ends.into_iter().all(|it| it.is_some_and(edge)) && name.bytes().all(|it| edge(it) || it == b'-' || it == b'.')
}
