//! [I/O] `modelservice`: prints the files for llm-d's charts that belong to a run. It contacts no cluster, so that llm-d can be installed before the
//! run is created.

use std::path::PathBuf;

use clap::Args;
use crds::{
    BenchmarkRunSpec, RunIdentity, Settings,
    resolve::{FieldError, InferenceStack, StackFile, resolve},
};
use serde_json::Value;

use super::run::read;
use crate::{connection::ConnectionArgs, console, failure::Failure, run_file::RunFile};

/// The namespace if neither the flags nor the file contain one. The files do not depend on it.
const ANY_NAMESPACE: &str = "default";

#[derive(Args)]
#[command(after_help = "Examples:
  kubectl benchwright modelservice benchmarkrun.yaml --file install.txt")]
pub(crate) struct ModelserviceArgs {
    /// The file with the BenchmarkRun; - for stdin
    path: PathBuf,
    /// The file to print: modelservice.yaml, inferencepool.yaml, httproute.yaml, or install.txt with the commands
    #[arg(long, value_name = "NAME", default_value = StackFile::ModelService.name(), value_parser = named)]
    file: StackFile,
}

fn named(name: &str) -> Result<StackFile, String> {
    let found = StackFile::ALL.into_iter().find(|it| it.name() == name);
    found.ok_or_else(|| format!("write one of {}", StackFile::ALL.map(StackFile::name).join(", ")))
}

pub(crate) fn run(args: &ModelserviceArgs, connection: &ConnectionArgs) -> Result<u8, Failure> {
    let file = read(&args.path, connection)?;
    let path = args.path.display().to_string();
    let namespace = connection.namespace.clone().or_else(|| file.namespace.clone()).unwrap_or_default();
    let stack = stack(&file, &namespace).map_err(|problems| {
        Failure::error(format!(
            "{path}: cannot be converted to values for llm-d's charts:\n  {}",
            problems.join("\n  ")
        ))
    })?;
    // The printed commands need a file name, because stdin has already been read.
    let path = if path == "-" { "run.yaml".to_owned() } else { quoted(&path) };
    console::print(stack.text(args.file, &|it| format!("kubectl benchwright modelservice {path} --file {it}")));
    Ok(0)
}

/// The llm-d stack for the run in a file. The error has one line per problem.
fn stack(file: &RunFile, namespace: &str) -> Result<InferenceStack, Vec<String>> {
    let text = |pointer: &str| file.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text("/metadata/name");
    if name.is_empty() {
        let problem = "metadata.generateName: the names of llm-d's objects contain the run's name, which is unknown until the run is created; write metadata.name";
        return Err(vec![problem.to_owned()]);
    }
    let spec = file.object.get("spec").cloned().unwrap_or_default();
    let spec: BenchmarkRunSpec = serde_json::from_value(spec).map_err(|it| vec![format!("spec: {it}")])?;
    let identity = |namespace: &str| RunIdentity::first_attempt(name.clone(), namespace, String::new());
    let settings = Settings::default();
    let checked = if namespace.is_empty() { ANY_NAMESPACE } else { namespace };
    resolve(identity(checked), &spec, &settings)
        .map_err(|errors| errors.iter().map(FieldError::to_string).collect::<Vec<_>>())?;
    InferenceStack::new(&identity(namespace), &spec, &settings).ok_or_else(|| {
        let problem = "spec.target.server.method: is not ModelService, so llm-d's charts do not start the server; write method: ModelService, engine: VLLM and a gatewayRef";
        vec![problem.to_owned()]
    })
}

/// A path, quoted for a shell if necessary.
fn quoted(path: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./".contains(it);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}
