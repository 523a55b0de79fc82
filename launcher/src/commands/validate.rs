//! [I/O] `benchwright validate`: reports for CI what the operator would report for the BenchmarkRuns, BenchmarkSchedules and BenchmarkSweeps in files.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use files::user_file;
use launcher::{
    console,
    input::{self, LocalOptions, RunSource},
};
use policy::Policy;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright validate -f benchmarkrun.yaml
  benchwright validate runs/chat.yaml runs/code.yaml --policy values.yaml")]
pub(crate) struct ValidateArgs {
    /// Files of objects, as for kubectl apply, with any number of documents; - is standard input, such as the output of kustomize
    #[arg(required_unless_present = "more_files", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The same files, as for `run` and kubectl
    #[arg(short = 'f', long = "file", value_name = "FILE", id = "more_files")]
    more_files: Vec<PathBuf>,
    /// Refuse a profile with a key that would be ignored or changed
    #[arg(long)]
    strict: bool,
    /// What the administrators allow: the operator's policy file, or the values of the chart, with the policy under `policy`
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The namespace of runs without a namespace [default: default]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// The operator's own image: runs may always name it, whatever the policy allows
    #[arg(long, value_name = "IMAGE", requires = "policy")]
    launcher_image: Option<String>,
}

/// Maximum size of a policy file in bytes: the limit of a ConfigMap.
const MAX_POLICY_BYTES: u64 = 1 << 20;

fn policy(path: &Path) -> anyhow::Result<Policy> {
    let shown = path.display();
    let text = user_file::read_text(path, MAX_POLICY_BYTES).with_context(|| {
        format!("--policy: cannot read {shown}; give the operator's policy, or values of its chart")
    })?;
    Policy::parse_file(&text).map_err(|problems| anyhow::anyhow!("--policy: {shown} cannot be used:\n{problems}"))
}

/// Returns the exit status: 0 if the operator can run all objects, otherwise the status of a configuration error.
pub(crate) fn run(args: &ValidateArgs) -> anyhow::Result<u8> {
    if let Some(namespace) = &args.namespace {
        let letters = namespace.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-');
        let is_name =
            letters && (1..=63).contains(&namespace.len()) && !namespace.starts_with('-') && !namespace.ends_with('-');
        anyhow::ensure!(
            is_name,
            "--namespace is {}; write the name of a namespace: 1 to 63 characters a-z, 0-9 and -",
            crds::wording::quoted(namespace)
        );
    }
    let rules = input::Rules {
        strict: args.strict,
        namespace: args.namespace.clone(),
        policy: args.policy.as_deref().map(policy).transpose()?.unwrap_or_default(),
        own_image: args.launcher_image.clone().unwrap_or_default(),
    };
    let checked = input::check_files(&[&args.files[..], &args.more_files].concat(), &rules);
    anyhow::ensure!(
        !checked.is_empty(),
        "none of the files has a BenchmarkRun, a BenchmarkSchedule or a BenchmarkSweep; give the files that kubectl would apply"
    );
    let mut lines = String::new();
    for run in &checked {
        let place = match run.name.as_str() {
            "" => run.file.display().to_string(),
            name => format!("{}: {name}", run.file.display()),
        };
        for notice in &run.notices {
            console::say(format_args!("note: {place}: {}: {}", notice.path, notice.message));
        }
        match &run.error {
            Some(error) => {
                let error = error.to_string();
                // Most errors already begin with the file name.
                let named = error.strip_prefix(&run.file.display().to_string());
                console::say(named.map_or_else(|| format!("{place}: {error}"), |rest| format!("{place}{rest}")));
                let source = RunSource::File(run.file.clone());
                if run.file.is_file() && input::from_source(&source, &LocalOptions::default()).is_ok() {
                    let file = run.file.display();
                    console::say(format_args!(
                        "note: {place}: outside of a cluster, `benchwright run -f {file}` can run it"
                    ));
                }
            }
            None => lines += &format!("{place}: can be run\n"),
        }
    }
    console::print(lines)?;
    let wrong = checked.iter().any(|it| it.error.is_some());
    Ok(if wrong { crds::ExitCode::Configuration.code() } else { 0 })
}
