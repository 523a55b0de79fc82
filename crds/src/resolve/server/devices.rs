//! The number of GPUs per replica.

use super::managed_server::{DEVICES, FIELD, Place};
use crate::{
    benchmark_run::{MAX_DEVICE_NAME, MAX_DEVICES, MAX_REPLICAS, Server},
    resolve::Errors,
    wording::quoted,
};

/// Number of GPUs per replica. `None` if the spec does not determine it.
pub(super) fn per_replica(server: &Server, place: Place) -> Option<u32> {
    match place {
        Place::Laptop => server.devices.first().and_then(|it| u32::try_from(it.len()).ok()),
        Place::Cluster => {
            let resources = server.resources.as_ref()?;
            let count = |names: &std::collections::BTreeMap<String, crate::AnyValue>| -> u32 {
                let gpus = names.iter().filter(|(name, _)| is_gpu(name));
                gpus.filter_map(|(_, count)| count.text().parse::<u32>().ok()).fold(0, u32::saturating_add)
            };
            // If there is a request for a GPU, Kubernetes requires that it equals the limit. So either number can be used.
            Some(count(&resources.limits).max(count(&resources.requests))).filter(|it| *it > 0)
        }
    }
}

/// Whether a Kubernetes resource is a GPU or another accelerator.
pub(super) fn is_gpu(name: &str) -> bool {
    let kinds = ["/gpu", "/tpu", "/gaudi", "/mig-", "/i915", "/xe"];
    name.starts_with("gpu.intel.com/") || kinds.iter().any(|it| name.contains(it))
}

pub(super) fn check(server: &Server, replicas: u32, errors: &mut Errors) {
    if replicas == 0 || replicas > MAX_REPLICAS {
        let message = format!("is {replicas}; write a number from 1 to {MAX_REPLICAS}");
        errors.add(&format!("{FIELD}.replicas"), &message);
    }
    let Some(first) = server.devices.first() else { return };
    let field = format!("{FIELD}.devices");
    let sets = server.devices.len();
    if u32::try_from(sets) != Ok(replicas) {
        let message =
            format!("has {sets} sets, and replicas is {replicas}; write a set for each replica, or take replicas out");
        errors.add(&field, &message);
    }
    if let Some(other) = server.devices.iter().find(|it| it.len() != first.len()) {
        let (first, other) = (first.len(), other.len());
        let message = format!(
            "has sets of {first} and of {other} devices; give every replica the same number, because the report does not separate the replicas"
        );
        errors.add(&field, &message);
    }
    for (index, set) in server.devices.iter().enumerate() {
        let at = format!("{field}[{index}]");
        if set.is_empty() || set.len() > MAX_DEVICES {
            errors.add(&at, &format!("has {} devices; write 1 to {MAX_DEVICES}, such as [\"0\", \"1\"]", set.len()));
        }
        let plain = |it: char| it.is_ascii_alphanumeric() || "-:/._".contains(it);
        let wrong = |it: &&String| it.is_empty() || it.len() > MAX_DEVICE_NAME as usize || !it.chars().all(plain);
        if let Some(wrong) = set.iter().find(wrong) {
            let remedy = "write the number of a device, or its UUID, as nvidia-smi -L lists them";
            errors.add(&at, &format!("has {}; {remedy}", quoted(wrong)));
        }
        if let Some(twice) = set.iter().enumerate().find(|(at, it)| set[..*at].contains(it)) {
            errors.add(&at, &format!("has {} twice; take one of them out", quoted(twice.1)));
        }
    }
    if server.env.contains_key(DEVICES) {
        errors.add(&format!("{FIELD}.env"), &format!("holds {DEVICES}, which devices sets too; keep one of them"));
    }
}
