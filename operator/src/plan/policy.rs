//! Checks a run against the administrators' limits. The crate `policy` does most of it; this module adds checks on Services of the cluster.

use std::collections::BTreeMap;

use crds::wording::quoted;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;

pub use ::policy::{Limits, Pattern, Policy, UNKNOWN_TARGET, Violation, called_services, check, remote_files};

/// Rejects a Service of type ExternalName, which would make another host reachable under a name that `targetHosts` allows.
pub fn alias(name: &str, service: &Service) -> Option<Violation> {
    let spec = service.spec.as_ref().filter(|it| it.type_.as_deref() == Some("ExternalName"))?;
    let rule = "a Service of type ExternalName cannot be a target while limits.targetHosts is set; name a Service with a selector, \
                or a host that is allowed";
    Some(Violation {
        field: format!("spec, the Service {name:?}"),
        value: format!("another name of {}", quoted(spec.external_name.as_deref().unwrap_or_default())),
        rule: rule.to_owned(),
    })
}

/// The Services that would select a launcher's pod because of labels that the user chose. Requests to such a Service could reach the launcher.
pub fn joined_services(
    chosen: &BTreeMap<String, String>,
    all_labels: &BTreeMap<String, String>,
    services: &[Service],
) -> Vec<Violation> {
    let joins = services.iter().filter_map(|service| {
        let selector = service.spec.as_ref()?.selector.as_ref()?;
        let selects = selector.iter().all(|(key, value)| all_labels.get(key) == Some(value));
        let by_choice = selector.iter().find(|(key, value)| chosen.get(*key) == Some(*value))?;
        let (key, value) = by_choice;
        selects.then(|| Violation {
            field: format!("spec.launcher.labels.{key}"),
            value: quoted(value),
            rule: format!(
                "with this label the launcher's pod would get requests that are meant for Service {:?}; choose another label",
                service.name_any()
            ),
        })
    });
    joins.collect()
}
