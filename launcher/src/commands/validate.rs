//! [I/O] `benchwright validate`: what the operator would say of the BenchmarkRuns and BenchmarkSchedules in files, for CI.

use std::path::PathBuf;

use clap::Args;
use launcher::{console, input};

#[derive(Args)]
pub(crate) struct ValidateArgs {
    /// Files of objects, as for kubectl apply, with any number of documents; - is standard input, such as the output of kustomize
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Refuse a profile with a key that would be ignored or changed
    #[arg(long)]
    strict: bool,
}

/// Whether all of them can be run.
pub(crate) fn run(args: &ValidateArgs) -> anyhow::Result<u8> {
    let checked = input::check_files(&args.files, args.strict);
    anyhow::ensure!(
        !checked.is_empty(),
        "none of the files has a BenchmarkRun or a BenchmarkSchedule; give the files that kubectl would apply"
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
                // Most errors begin with the file.
                let named = error.strip_prefix(&run.file.display().to_string());
                console::say(named.map_or_else(|| format!("{place}: {error}"), |rest| format!("{place}{rest}")));
            }
            None => lines += &format!("{place}: can be run\n"),
        }
    }
    console::print(lines)?;
    let wrong = checked.iter().any(|it| it.error.is_some());
    Ok(if wrong { crds::ExitCode::Configuration.code() } else { 0 })
}
