//! Settings that all pods of our image share: tolerations, and the security context that Pod Security `restricted` requires.

use k8s_openapi::api::core::v1::{
    Capabilities, PodSecurityContext, SeccompProfile, SecurityContext, Toleration as CoreToleration,
};

use crate::benchmark_run::Toleration;

/// UID and GID of the launcher: an unprivileged user.
pub const USER: i64 = 65_532;

/// The security context of a pod with this user, group and fsGroup. For `None` the cluster chooses the ID.
pub fn pod_security([user, group, fs_group]: [Option<i64>; 3]) -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: user,
        run_as_group: group,
        fs_group,
        fs_group_change_policy: Some("OnRootMismatch".into()),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".into(), ..SeccompProfile::default() }),
        ..PodSecurityContext::default()
    }
}

/// The security context of a container: no capabilities, no privilege escalation, and a read-only root file system.
pub fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), ..Capabilities::default() }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

impl From<&Toleration> for CoreToleration {
    fn from(written: &Toleration) -> Self {
        CoreToleration {
            key: written.key.clone(),
            operator: written.operator.clone(),
            value: written.value.clone(),
            effect: written.effect.clone(),
            toleration_seconds: written.toleration_seconds,
        }
    }
}
