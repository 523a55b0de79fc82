//! Tests that the operator used every right that the chart grants in the end-to-end tests before this one, and needed no other. It reads the audit
//! log of our own cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::Context;
use e2e::{
    Cluster,
    cluster::{OPERATOR, SYSTEM_NAMESPACE},
    tools,
};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject};
use kube::{Api, api::ListParams};
use serde_json::Value;

/// A resource in the form `group/resource/subresource`, and a verb.
type Right = (String, String);

/// All rights in these rules.
fn rights(rules: Vec<PolicyRule>) -> BTreeSet<Right> {
    let mut found = BTreeSet::new();
    for rule in rules {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                found.extend(rule.verbs.iter().map(|verb| (format!("{group}/{resource}"), verb.clone())));
            }
        }
    }
    found
}

/// All rights that the roles of the operator's service account grant, in any namespace.
async fn granted(cluster: &Cluster) -> anyhow::Result<BTreeSet<Right>> {
    let of_operator = |subjects: &Option<Vec<Subject>>| {
        let is_its = |it: &Subject| it.namespace.as_deref() == Some(SYSTEM_NAMESPACE) && it.name == OPERATOR;
        subjects.iter().flatten().any(is_its)
    };
    let mut found = BTreeSet::new();
    let roles: Api<ClusterRole> = Api::all(cluster.client.clone());
    for binding in Api::<ClusterRoleBinding>::all(cluster.client.clone()).list(&ListParams::default()).await? {
        if of_operator(&binding.subjects) {
            found.extend(rights(roles.get(&binding.role_ref.name).await?.rules.unwrap_or_default()));
        }
    }
    for binding in Api::<RoleBinding>::all(cluster.client.clone()).list(&ListParams::default()).await? {
        if of_operator(&binding.subjects) {
            let namespace = binding.metadata.namespace.context("a RoleBinding has a namespace")?;
            let roles: Api<Role> = Api::namespaced(cluster.client.clone(), &namespace);
            found.extend(rights(roles.get(&binding.role_ref.name).await?.rules.unwrap_or_default()));
        }
    }
    Ok(found)
}

/// For each right in the audit log: the number of requests, and how many of them were denied.
fn used() -> anyhow::Result<BTreeMap<Right, (usize, usize)>> {
    let mut found = BTreeMap::new();
    for file in fs::read_dir(tools::cluster_folder().join("state/log"))? {
        let file = file?.path();
        if !file.file_name().is_some_and(|it| it.to_string_lossy().starts_with("audit")) {
            continue;
        }
        for line in fs::read_to_string(file)?.lines() {
            let event: Value = serde_json::from_str(line)?;
            let (object, verb) = (&event["objectRef"], event["verb"].as_str().unwrap_or_default());
            let Some(resource) = object["resource"].as_str() else { continue };
            let subresource = object["subresource"].as_str().map(|it| format!("/{it}")).unwrap_or_default();
            let right = format!("{}/{resource}{subresource}", object["apiGroup"].as_str().unwrap_or_default());
            let counts: &mut (usize, usize) = found.entry((right, verb.to_owned())).or_default();
            counts.0 += 1;
            counts.1 += usize::from(event["annotations"]["authorization.k8s.io/decision"] == "forbid");
        }
    }
    Ok(found)
}

#[tokio::test]
#[ignore = "needs the cluster on which the other tests ran: make e2e"]
async fn the_rights_granted_are_the_rights_used() -> anyhow::Result<()> {
    let (granted, used) = (granted(&Cluster::connect().await?).await?, used()?);
    println!("{:<50} {:<8} {:>8} {:>7}", "resource", "verb", "requests", "denied");
    for right in granted.iter().chain(used.keys()).collect::<BTreeSet<_>>() {
        let (requests, denied) = used.get(right).copied().unwrap_or_default();
        println!("{:<50} {:<8} {requests:>8} {denied:>7}", right.0, right.1);
    }
    assert!(!granted.is_empty(), "the operator is not installed");
    // This right only marks the operator for admission policies. There are no objects in its API group.
    let is_mark = |right: &str| right.starts_with("operator.benchwright.dev/");
    let unused: Vec<_> = granted.iter().filter(|it| !used.contains_key(it) && !is_mark(&it.0)).collect();
    // While it is uninstalled, the operator releases its lease after its rights are gone.
    let may_be_denied = |right: &str| right == "coordination.k8s.io/leases";
    let denied: Vec<_> = used
        .iter()
        .filter(|(right, counts)| counts.1 > 0 && !may_be_denied(&right.0))
        .map(|(right, _)| right)
        .collect();
    let more: Vec<_> = used.keys().filter(|it| !granted.contains(it)).collect();
    assert!(
        unused.is_empty() && denied.is_empty() && more.is_empty(),
        "unused {unused:?}, denied {denied:?}, more {more:?}"
    );
    let denied_leases: usize = used.values().map(|it| it.1).sum();
    println!(
        "figure 20: all {0} granted rights are used, and no others; an uninstall has {denied_leases} denied requests for the Lease",
        granted.iter().filter(|it| !is_mark(&it.0)).count()
    );
    for (resource, verb) in &granted {
        let dangerous = ["/secrets", "/pods/exec", "/pods/log"].contains(&resource.as_str());
        assert!(!dangerous && !resource.contains('*') && verb != "*", "{verb} on {resource}");
    }
    Ok(())
}
