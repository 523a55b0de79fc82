//! `rerun`: creates a run with the spec of an earlier run.

use clap::Args;
use crds::benchmark_run::{GROUP, MAX_NAME_BYTES, VERSION};
use serde_json::{Map, Value, json};

use super::{FollowArgs, GET_RUN, create, run::finish};
use crate::{
    connection::Connection,
    failure::{self, Failure},
};

/// Number of bytes that the API server appends to a `generateName`.
const GENERATED_BYTES: usize = 5;
/// Labels and annotations that are not copied. Some name the tool that manages the earlier run, which would delete or change the copy. Others
/// record the result of the earlier run.
const NOT_COPIED: [&str; 8] = [
    "benchwright.dev/finished",
    "kubectl.kubernetes.io/last-applied-configuration",
    "argocd.argoproj.io/",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
    "meta.helm.sh/",
];

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright rerun first-run
  kubectl benchwright rerun first-run --as second-run --no-wait")]
pub(crate) struct RerunArgs {
    /// The earlier run
    name: String,
    /// The name of the new run [default: the earlier run's name with a dash and five random letters]
    #[arg(long = "as", value_name = "NAME")]
    name_of_copy: Option<String>,
    /// Print the name of the run without waiting for its end
    #[arg(long, conflicts_with_all = ["timeout", "junit", "allow_unverified"])]
    no_wait: bool,
    #[command(flatten)]
    follow: FollowArgs,
}

pub(crate) async fn run(args: &RerunArgs, connection: &Connection) -> Result<u8, Failure> {
    let path = format!("/apis/{GROUP}/{VERSION}/namespaces/{}/benchmarkruns", connection.namespace);
    // The run is read as untyped JSON, so that fields of a later release are copied as well.
    let request = kube::core::Request::new(path).get(&args.name, &kube::api::GetParams::default()).map_err(|it| {
        Failure::error(format!("{:?} is not a valid name for a run: {it}; see `kubectl get benchmarkruns`", args.name))
    })?;
    let deadline = args.follow.begin()?;
    let creation = async {
        let earlier: Value = connection
            .client
            .request(request)
            .await
            .map_err(|it| failure::refused(&it, GET_RUN, &args.name, &connection.namespace))?;
        create(connection, &copy(&earlier, args.name_of_copy.as_deref())).await
    };
    let run = deadline.bound(&connection.namespace, creation).await?;
    finish(connection, &run, args.no_wait, &args.follow, &deadline).await
}

/// A run with the spec of an earlier run, but neither suspended nor cancelled.
fn copy(earlier: &Value, name: Option<&str>) -> Value {
    let mut metadata = Map::new();
    match name {
        Some(name) => metadata.insert("name".into(), json!(name)),
        None => metadata.insert("generateName".into(), json!(generate_name(earlier))),
    };
    for kind in ["labels", "annotations"] {
        let all = earlier["metadata"][kind].as_object().into_iter().flatten();
        let is_copied =
            |key: &str| !NOT_COPIED.iter().any(|it| if it.ends_with('/') { key.starts_with(it) } else { key == *it });
        let kept: Map<String, Value> =
            all.filter(|(key, _)| is_copied(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
        if !kept.is_empty() {
            metadata.insert(kind.into(), Value::Object(kept));
        }
    }
    let mut spec = earlier["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        spec.retain(|key, _| key != "cancel" && key != "suspend");
    }
    rename_metrics(&mut spec);
    json!({"apiVersion": format!("{GROUP}/{VERSION}"), "kind": "BenchmarkRun", "metadata": metadata, "spec": spec})
}

/// Gives metrics their current names, because the API server refuses the former names in a new run.
fn rename_metrics(spec: &mut Value) {
    let objectives = spec.pointer_mut("/slo/objectives").and_then(Value::as_array_mut);
    for metric in objectives.into_iter().flatten().filter_map(|it| it.get_mut("metric")) {
        if metric == "e2e" {
            *metric = json!("latency");
        }
    }
}

/// The `generateName` of the copy, cut to the maximum length of a name. The suffix of a copy is removed first, so the name of a copy of a copy does
/// not grow.
fn generate_name(earlier: &Value) -> String {
    let name = |key: &str| earlier["metadata"][key].as_str().filter(|it| !it.is_empty());
    let start = name("generateName").or(name("name")).unwrap_or("run").trim_end_matches('-');
    // Names are ASCII, so one character is one byte.
    let start: String = start.chars().take(MAX_NAME_BYTES - GENERATED_BYTES - 1).collect();
    format!("{}-", start.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_an_older_run_has_the_names_of_this_release() {
        let earlier = json!({"metadata": {"name": "a"}, "spec": {"slo": {"objectives": [{"metric": "e2e"}, {"metric": "ttft"}]}}});
        let copied = copy(&earlier, None);
        assert_eq!(copied["spec"]["slo"]["objectives"], json!([{"metric": "latency"}, {"metric": "ttft"}]));
    }

    #[test]
    fn a_copy_has_what_the_user_wrote_and_nothing_of_the_server_or_of_a_manager() {
        let earlier = json!({
            "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
            "metadata": {
                "name": "chat", "namespace": "bench", "uid": "u", "resourceVersion": "7", "generation": 2,
                "creationTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [{"uid": "o"}], "finalizers": ["x"],
                "managedFields": [{}],
                "labels": {"team": "a", "app.kubernetes.io/instance": "argo", "kustomize.toolkit.fluxcd.io/name": "f"},
                "annotations": {
                    "benchwright.dev/finished": "{}", "kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "kept",
                    "argocd.argoproj.io/tracking-id": "x",
                },
            },
            "spec": {"target": {"simulator": {}}, "seed": 7, "cancel": "Graceful", "suspend": true, "later": {"field": 1}},
            "status": {"phase": "Cancelled"},
        });
        assert_eq!(
            copy(&earlier, None),
            json!({
                "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
                "metadata": {"generateName": "chat-", "labels": {"team": "a"}, "annotations": {"note": "kept"}},
                "spec": {"target": {"simulator": {}}, "seed": 7, "later": {"field": 1}},
            })
        );
        assert_eq!(copy(&earlier, Some("again"))["metadata"]["name"], "again");
    }

    #[test]
    fn a_generated_name_fits_and_does_not_grow_from_copy_to_copy() {
        let check = |metadata: Value, expected: &str| {
            let name = generate_name(&json!({"metadata": metadata}));
            assert_eq!(name, expected);
            assert!(name.len() + GENERATED_BYTES <= MAX_NAME_BYTES);
        };
        check(json!({"name": "chat-x7k2p", "generateName": "chat-"}), "chat-");
        check(json!({"name": "a".repeat(46)}), &format!("{}-", "a".repeat(40)));
        check(json!({"name": format!("{}-{}", "a".repeat(39), "b".repeat(6))}), &format!("{}-", "a".repeat(39)));
    }
}
