//! Prints a CustomResourceDefinition as YAML: of BenchmarkRun, or with the argument `schedules` or `sweeps` of BenchmarkSchedule or BenchmarkSweep.

use std::process::ExitCode;

fn main() -> ExitCode {
    let made = match std::env::args().nth(1).as_deref() {
        None => crds::crd_yaml(),
        Some("schedules") => crds::schedule_crd_yaml(),
        Some("sweeps") => crds::sweep_crd_yaml(),
        Some(other) => Err(format!("the argument is {other:?}; give none, schedules or sweeps").into()),
    };
    match made {
        Ok(yaml) => {
            print!("{yaml}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("crdgen: {error}");
            ExitCode::FAILURE
        }
    }
}
