//! Prints the CustomResourceDefinition of BenchmarkRun as YAML.

use std::process::ExitCode;

fn main() -> ExitCode {
    match crds::crd_yaml() {
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
