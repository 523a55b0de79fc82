//! [I/O] The operator's Deployment, the image that it uses for launchers, and the policies that the chart installs.

use k8s_openapi::api::{
    admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding},
    apps::v1::Deployment,
};
use kube::{Api, ResourceExt as _, api::ListParams};

use super::finding::Finding;
use crate::connection::Connection;

const SUBJECT: &str = "operator";
const IMAGE: &str = "launcher image";
const POLICY: &str = "admission policy";
const LIMITS: &str = "admission limits";
/// The labels of the operator's Deployment in the chart.
const LABELS: &str = "app.kubernetes.io/name=benchwright,app.kubernetes.io/component=operator";
const CHART: &str = "app.kubernetes.io/part-of=benchwright";
/// Suffix of the name of the chart's policy for runs.
const OF_RUNS: &str = "-secret-access";
/// Suffix of the name of the chart's policy for schedules.
const OF_SCHEDULES: &str = "-schedule-secret-access";
/// Suffix of the name of the chart's policy for sweeps.
const OF_SWEEPS: &str = "-sweep-secret-access";
/// Suffix of the name of the chart's policy with limits for runs and schedules.
const OF_LIMITS: &str = "-policy";
const IMAGE_FLAG: &str = "--launcher-image=";
const NAMESPACE_FLAG: &str = "--watch-namespace=";

pub(super) async fn check(connection: &Connection) -> Vec<Finding> {
    let mut findings = deployments(connection).await;
    findings.extend(policies(connection).await);
    findings
}

async fn deployments(connection: &Connection) -> Vec<Finding> {
    let deployments: Api<Deployment> = Api::all(connection.client.clone());
    let found = match deployments.list(&ListParams::default().labels(LABELS)).await {
        Ok(found) => found.items,
        Err(error) => return vec![Finding::not_checked(SUBJECT, "list deployments.apps in all namespaces", &error)],
    };
    judge(&found, &connection.namespace)
}

fn judge(found: &[Deployment], namespace: &str) -> Vec<Finding> {
    if found.is_empty() {
        return vec![Finding::failed(SUBJECT, "no Deployment has the labels of the chart; install the chart")];
    }
    let Some(deployment) = found.iter().find(|it| watches(it, namespace)) else {
        let name = found[0].name_any();
        return vec![Finding::failed(
            SUBJECT,
            format!(
                "{name} does not watch namespace {namespace}; add it to watchNamespaces of the chart, or choose another namespace with -n"
            ),
        )];
    };
    let (name, place) = (deployment.name_any(), deployment.namespace().unwrap_or_default());
    let ready = deployment.status.as_ref().and_then(|it| it.ready_replicas).unwrap_or_default();
    let wanted = deployment.spec.as_ref().and_then(|it| it.replicas).unwrap_or(1);
    let version = deployment.labels().get("app.kubernetes.io/version").map(String::as_str).unwrap_or_default();
    let state = format!("{name} {version} in namespace {place}, {ready} of {wanted} replicas ready");
    let look = format!("`kubectl describe deployment {name} -n {place}` says why");
    let operator = match () {
        () if ready == 0 => Finding::failed(SUBJECT, format!("{state}; {look}")),
        () if ready < wanted => Finding::warning(SUBJECT, format!("{state}; {look}")),
        () if version != env!("CARGO_PKG_VERSION") => Finding::warning(
            SUBJECT,
            format!(
                "{state}; this plugin is {}: install the plugin of the operator's release",
                env!("CARGO_PKG_VERSION")
            ),
        ),
        () => Finding::ok(SUBJECT, state),
    };
    let image = match flags(deployment).find_map(|it| it.strip_prefix(IMAGE_FLAG)) {
        Some(image) if is_floating(image) => Finding::warning(
            IMAGE,
            format!("{image} may change between two runs; set image.digest or a tag of a release in the chart"),
        ),
        Some(image) => Finding::ok(IMAGE, image),
        None => Finding::warning(
            IMAGE,
            "the Deployment has no --launcher-image, so each run must name its launcher's image; install the chart again",
        ),
    };
    vec![operator, image]
}

/// Whether an operator watches a namespace. Without the namespace flag it watches all.
fn watches(deployment: &Deployment, namespace: &str) -> bool {
    let mut named = flags(deployment).filter_map(|it| it.strip_prefix(NAMESPACE_FLAG)).peekable();
    named.peek().is_none() || named.any(|it| it == namespace)
}

fn flags(deployment: &Deployment) -> impl Iterator<Item = &str> {
    let containers = deployment.spec.iter().filter_map(|it| it.template.spec.as_ref()).flat_map(|it| &it.containers);
    containers.flat_map(|it| it.args.iter().flatten()).map(String::as_str)
}

/// Whether an image reference may lead to different images over time: it has neither digest nor tag, or the tag `latest`. A colon before the last `/`
/// belongs to a port.
fn is_floating(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or_default();
    !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

async fn policies(connection: &Connection) -> Vec<Finding> {
    let of_chart = ListParams::default().labels(CHART);
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(connection.client.clone());
    let policies = match policies.list(&of_chart).await {
        Ok(found) => found.items.iter().map(|it| it.name_any()).collect::<Vec<_>>(),
        Err(error) => {
            let right = "list validatingadmissionpolicies.admissionregistration.k8s.io";
            return vec![Finding::not_checked(POLICY, right, &error)];
        }
    };
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(connection.client.clone());
    match bindings.list(&of_chart).await {
        Ok(found) => vec![judge_policy(&policies, &found.items), judge_limits(&policies, &found.items)],
        Err(error) => {
            let right = "list validatingadmissionpolicybindings.admissionregistration.k8s.io";
            vec![Finding::not_checked(POLICY, right, &error)]
        }
    }
}

/// Checks the chart's policies for runs and for schedules. A policy only has an effect if a binding with the action Deny refers to it.
fn judge_policy(policies: &[String], bindings: &[ValidatingAdmissionPolicyBinding]) -> Finding {
    let of_schedules = policies.iter().find(|it| it.ends_with(OF_SCHEDULES));
    let is_of_runs =
        |it: &&String| it.ends_with(OF_RUNS) && ![OF_SCHEDULES, OF_SWEEPS].iter().any(|of| it.ends_with(of));
    let of_runs = policies.iter().find(is_of_runs);
    let both = [("runs", of_runs), ("schedules", of_schedules)];
    if let Some((kind, _)) = both.iter().find(|(_, it)| it.is_none()) {
        return Finding::warning(
            POLICY,
            format!(
                "none for {kind}: whoever may create {kind} can use every Secret of the namespace; set admission.secretAccess.enabled in the chart"
            ),
        );
    }
    let names: Vec<&String> = both.iter().filter_map(|(_, it)| *it).collect();
    if let Some(warning) = names.iter().find_map(|it| without_effect(POLICY, it, bindings)) {
        return warning;
    }
    let shown = names.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ");
    Finding::ok(
        POLICY,
        format!(
            "{shown}: only users who may create pods can name Secrets, ConfigMaps, claims, service accounts or images"
        ),
    )
}

/// Returns a warning if no binding enforces the policy in all namespaces.
fn without_effect(subject: &'static str, name: &str, bindings: &[ValidatingAdmissionPolicyBinding]) -> Option<Finding> {
    let mut specs = bindings.iter().filter_map(|it| it.spec.as_ref());
    let denies = specs.any(|it| {
        it.policy_name.as_deref() == Some(name)
            && it.match_resources.is_none()
            && it.validation_actions.iter().flatten().any(|action| action == "Deny")
    });
    let text = "has no binding that denies in all namespaces, so it has no effect; install the chart again";
    (!denies).then(|| Finding::warning(subject, format!("{name} {text}")))
}

/// Checks the policy with the limits. Without the policy a run beyond the limits is still refused, but later: the operator checks each run as well.
fn judge_limits(policies: &[String], bindings: &[ValidatingAdmissionPolicyBinding]) -> Finding {
    let Some(name) = policies.iter().find(|it| it.ends_with(OF_LIMITS)) else {
        return Finding::warning(
            LIMITS,
            "none: a run beyond the limits is created, and then fails with PolicyDenied; set admission.policy.enabled in the chart",
        );
    };
    without_effect(LIMITS, name, bindings).unwrap_or_else(|| {
        Finding::ok(LIMITS, format!("{name}: runs and schedules beyond the limits are refused when they are created"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::State, *};

    fn deployment(ready: i32, version: &str, args: &[&str]) -> Deployment {
        serde_json::from_value(json!({
            "metadata": {"name": "benchwright-operator", "namespace": "system", "labels": {"app.kubernetes.io/version": version}},
            "spec": {"replicas": 2, "selector": {}, "template": {"spec": {"containers": [{"name": "operator", "args": args}]}}},
            "status": {"readyReplicas": ready},
        }))
        .unwrap()
    }

    fn assert_judged(found: &[Deployment], expected: &[(State, &str)]) {
        let findings = judge(found, "bench");
        assert_eq!(findings.len(), expected.len(), "{findings:?}");
        for (found, (state, part)) in findings.iter().zip(expected) {
            assert!(found.state == *state && found.text.contains(part), "{part:?} is not in {found:?}");
        }
    }

    #[test]
    fn an_operator_is_there_ready_and_of_this_release() {
        let (version, image) = (env!("CARGO_PKG_VERSION"), "--launcher-image=registry.example:5000/benchwright:0.1.0");
        let image_is_good = (State::Ok, "registry.example:5000/benchwright:0.1.0");
        assert_judged(&[], &[(State::Failed, "install the chart")]);
        assert_judged(&[deployment(2, version, &[image])], &[(State::Ok, "2 of 2 replicas ready"), image_is_good]);
        assert_judged(&[deployment(1, version, &[image])], &[(State::Warning, "1 of 2 replicas ready"), image_is_good]);
        assert_judged(&[deployment(0, version, &[image])], &[(State::Failed, "says why"), image_is_good]);
        assert_judged(
            &[deployment(2, "9.9.9", &[image])],
            &[(State::Warning, "install the plugin of the operator's release"), image_is_good],
        );
        assert_judged(&[deployment(2, version, &[])], &[(State::Ok, ""), (State::Warning, "has no --launcher-image")]);
        let elsewhere = deployment(2, version, &[image, "--watch-namespace=team-a"]);
        assert_judged(std::slice::from_ref(&elsewhere), &[(State::Failed, "does not watch namespace bench")]);
        let here = deployment(2, version, &[image, "--watch-namespace=team-b", "--watch-namespace=bench"]);
        assert_judged(&[elsewhere, here], &[(State::Ok, ""), image_is_good]);
    }

    #[test]
    fn an_image_without_a_release_may_change() {
        for image in ["benchwright", "registry:5000/benchwright", "a/benchwright:latest"] {
            assert!(is_floating(image), "{image}");
        }
        for image in ["a/benchwright:1", "a/benchwright@sha256:00", "registry:5000/benchwright:latest@sha256:00"] {
            assert!(!is_floating(image), "{image}");
        }
    }
}
