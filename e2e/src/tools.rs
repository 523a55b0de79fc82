//! Runs commands that a user would type: helm, kubectl and `e2e/cluster/cluster`.

use std::{
    fs::File,
    io::{Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, bail};

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("e2e lies in the repository's root").to_owned()
}

/// The folder with the programs and the kubeconfig of our own cluster.
pub fn cluster_folder() -> PathBuf {
    std::env::var_os("BENCHWRIGHT_CLUSTER_DIR").map_or_else(|| repository().join(".cluster"), PathBuf::from)
}

/// The kubeconfig that all commands and clients use.
pub fn kubeconfig() -> PathBuf {
    std::env::var_os("KUBECONFIG").map_or_else(|| cluster_folder().join("kubeconfig"), PathBuf::from)
}

/// Runs `e2e/cluster/cluster` with these arguments, and returns its output.
///
/// # Errors
/// Its exit code is not 0. The error contains the output.
pub fn cluster(arguments: &[&str]) -> anyhow::Result<String> {
    run(Command::new(repository().join("e2e/cluster/cluster")).args(arguments))
}

/// Runs helm: the build of our own cluster if it exists, otherwise the installed one.
///
/// # Errors
/// Its exit code is not 0. The error contains the output.
pub fn helm(arguments: &[&str]) -> anyhow::Result<String> {
    run(Command::new(built_or_installed("helm")).args(arguments).env("KUBECONFIG", kubeconfig()))
}

/// Runs kubectl: the build of our own cluster if it exists, otherwise the installed one.
///
/// # Errors
/// Its exit code is not 0. The error contains the output.
pub fn kubectl(arguments: &[&str]) -> anyhow::Result<String> {
    run(Command::new(built_or_installed("kubectl")).args(arguments).env("KUBECONFIG", kubeconfig()))
}

/// Applies an object like Flux: with a server-side apply that also overwrites fields of other managers.
///
/// # Errors
/// The exit code of kubectl is not 0. The error contains its output.
pub fn apply(object: &serde_json::Value) -> anyhow::Result<()> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(object.to_string().as_bytes())?;
    let path = file.path().to_str().context("the temporary folder's path is no UTF-8")?;
    kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", path]).map(drop)
}

/// Runs the kubectl plugin with this kubeconfig in this folder, and accepts every exit code. `KUBECTL_BENCHWRIGHT` is the path of the plugin; by
/// default it is the binary next to this program.
///
/// # Errors
/// The plugin has not been built.
pub fn plugin(arguments: &[&str], kubeconfig: &Path, folder: &Path) -> anyhow::Result<Output> {
    let own = std::env::current_exe()?;
    let beside = || own.parent()?.parent().map(|it| it.join("kubectl-benchwright"));
    let path = std::env::var_os("KUBECTL_BENCHWRIGHT").map(PathBuf::from).or_else(beside);
    let path = path.context("a test lies in a folder of its build")?;
    let mut command = Command::new(&path);
    command.args(arguments).current_dir(folder).env("KUBECONFIG", kubeconfig);
    command.output().with_context(|| format!("cannot start {}: cargo build -p kubectl-benchwright", path.display()))
}

/// Evaluates the CEL rules of the CRD with the API server's own code. Returns one line of JSON for each line of `objects`.
///
/// # Errors
/// The exit code is not 0. The error contains the output.
pub fn rule_cost(objects: &str) -> anyhow::Result<String> {
    let definition = repository().join("charts/benchwright/files/benchmarkruns.yaml");
    run(Command::new(built_or_installed("rule-cost")).arg(definition).stdin(input(objects)?))
}

/// Returns the health of objects according to kstatus, Argo CD and Flux, as one line of JSON for each line of `objects`. It uses the code of these
/// tools, and the files in `examples/gitops`.
///
/// # Errors
/// The exit code is not 0. The error contains the output.
pub fn gitops_health(objects: &str) -> anyhow::Result<String> {
    let files = ["argocd-cm.yaml", "flux.yaml"].map(|it| repository().join("examples/gitops").join(it));
    run(Command::new(built_or_installed("gitops-health")).args(files).stdin(input(objects)?))
}

fn input(text: &str) -> anyhow::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Runs promtool, Prometheus' checker: the build of our own cluster if it exists, otherwise the installed one.
///
/// # Errors
/// Its exit code is not 0. The error contains the output.
pub fn promtool(arguments: &[&str]) -> anyhow::Result<String> {
    run(Command::new(built_or_installed("promtool")).args(arguments))
}

/// The folder with the CRDs of the Prometheus Operator that the chart needs. `None` if they have not been built.
pub fn prometheus_definitions() -> Option<PathBuf> {
    Some(cluster_folder().join("parts/prometheus-crds")).filter(|it| it.exists())
}

fn built_or_installed(name: &str) -> PathBuf {
    let built = cluster_folder().join("parts/bin").join(name);
    if built.exists() { built } else { PathBuf::from(name) }
}

fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{command:?} ended with {}\n{stdout}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(stdout)
}
