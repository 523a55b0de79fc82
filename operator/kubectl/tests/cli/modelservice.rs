//! Tests of `modelservice`: it prints the input files for llm-d's charts, and needs no cluster.

use crate::plugin::Plugin;

const FILE: &str = "
apiVersion: benchwright.dev/v1alpha1
kind: BenchmarkRun
metadata: {name: llama, namespace: bench}
spec:
  target:
    server:
      engine: VLLM
      method: ModelService
      image: vllm/vllm-openai:v0.11.0
      model: org/llama
      gatewayRef: {name: gateway}
      replicas: 2
      resources: {limits: {nvidia.com/gpu: 4}}
";

/// A plugin whose kubeconfig points to a port on which nothing listens.
fn plugin() -> Plugin {
    Plugin::with_url("http://127.0.0.1:1")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_values_are_printed_without_a_cluster() {
    let plugin = plugin();
    let path = plugin.file("run.yaml", FILE);
    let values = plugin.run(&["modelservice", &path]).await;
    assert_eq!(values.code, Some(0), "{values:?}");
    for part in ["uri: hf://org/llama", "replicas: 2", "nvidia.com/gpu: \"4\"", "- --tensor-parallel-size\n    - \"4\""]
    {
        assert!(values.stdout.contains(part), "{part:?} is not in {}", values.stdout);
    }
    let pool = plugin.run(&["modelservice", &path, "--file", "inferencepool.yaml"]).await;
    assert!(pool.stdout.contains("llm-d.ai/model: llama"), "{pool:?}");
    let route = plugin.run(&["modelservice", &path, "--file", "httproute.yaml"]).await;
    assert!(route.stdout.contains("kind: HTTPRoute") && route.stdout.contains("name: llm-d-llama"), "{route:?}");
    let commands = plugin.run(&["modelservice", &path, "--file", "install.txt"]).await;
    let expected = "kubectl benchwright modelservice run.yaml --file modelservice.yaml | \\\n  helm install ms-llama";
    assert!(commands.stdout.contains(expected) && commands.stdout.contains(" -n bench -f -"), "{}", commands.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_installed_is_refused_with_a_remedy() {
    let plugin = plugin();
    for (from, to, expected) in [
        ("method: ModelService", "lifecycle: Keep", "gatewayRef: has no effect with method Standalone"),
        ("engine: VLLM", "engine: SGLang", "spec.target.server.engine: is SGLang, and method ModelService is for VLLM"),
        (
            "name: llama",
            "generateName: llama-",
            "metadata.generateName: the names of llm-d's objects contain the run's name",
        ),
        ("gatewayRef: {name: gateway}", "lifecycle: Keep", "gatewayRef: is missing"),
    ] {
        let path = plugin.file("run.yaml", &FILE.replace(from, to));
        let done = plugin.run(&["modelservice", &path]).await;
        assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{done:?}");
        assert!(done.stderr.contains(expected), "{expected:?} is not in {}", done.stderr);
    }
    let path = plugin.file("run.yaml", crate::runs::FILE);
    let done = plugin.run(&["modelservice", &path]).await;
    assert!(done.stderr.contains("spec.target.server.method: is not ModelService"), "{done:?}");
    let path = plugin.file("run.yaml", FILE);
    let done = plugin.run(&["modelservice", &path, "-n", "other"]).await;
    assert!(done.stderr.contains("metadata.namespace is \"bench\", and -n is \"other\""), "{done:?}");
    // Users may paste the printed commands into a shell, so an injected command must be refused.
    let path = plugin.file("run.yaml", &FILE.replace("namespace: bench", "namespace: \"x; rm -rf y\""));
    let done = plugin.run(&["modelservice", &path, "--file", "install.txt"]).await;
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{done:?}");
    assert!(
        done.stderr.contains("metadata.namespace is \"x; rm -rf y\", which is no name of a namespace; use "),
        "{done:?}"
    );
    let path = plugin.file("run.yaml", &FILE.replace(", namespace: bench", ""));
    for namespace in ["a$(b)", "a.b", "", &"a".repeat(64)] {
        let done = plugin.run(&["modelservice", &path, "-n", namespace]).await;
        assert!(done.code == Some(3) && done.stderr.contains("-n is "), "{namespace:?}: {done:?}");
    }
    let done = plugin.run(&["modelservice", &path, "-n", &"a".repeat(63)]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let done = plugin.run(&["modelservice", &path, "--file", "values.yaml"]).await;
    assert!(done.code == Some(10) && done.stderr.contains("write one of modelservice.yaml, "), "{done:?}");
}
