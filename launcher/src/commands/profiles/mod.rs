//! `benchwright profiles`: lists the profiles that ship, or prints one.

mod summary;

use std::fmt::Write as _;

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use crds::benchmark_run::{Harness, SimulatorPreset};
use launcher::{
    console,
    input::{self, LocalOptions, RunSource},
};
use workload_profiles::{shipped, shipped_names, template_variables};

use super::input_args::harness;
use summary::{Summary, purpose};

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright profiles -l benchwright
  benchwright profiles show concurrency_ramp")]
pub(crate) struct ProfilesArgs {
    /// Only the profiles of this harness
    #[arg(short = 'l', long, value_name = "HARNESS", global = true,
          value_parser = PossibleValuesParser::new(Harness::ALL.map(Harness::name)))]
    harness: Option<String>,
    #[command(subcommand)]
    command: Option<ProfilesCommand>,
}

#[derive(Subcommand)]
enum ProfilesCommand {
    /// Print the template of a profile, and its variables
    Show {
        /// The name of the profile
        name: String,
    },
}

pub(crate) fn run(args: &ProfilesArgs) -> anyhow::Result<()> {
    let only = args.harness.as_deref().and_then(harness);
    let harnesses = || Harness::ALL.into_iter().filter(|it| only.is_none_or(|only| only == *it));
    match &args.command {
        None => Ok(console::print(harnesses().map(list).collect::<String>())?),
        Some(ProfilesCommand::Show { name }) => {
            let found: Vec<Harness> = harnesses().filter(|it| shipped(*it, name).is_ok()).collect();
            let [harness] = found[..] else { anyhow::bail!(not_one(name, &found, only)) };
            Ok(console::print(show(harness, name)?)?)
        }
    }
}

/// The error for a name that does not identify exactly one profile.
fn not_one(name: &str, found: &[Harness], only: Option<Harness>) -> String {
    if found.is_empty() {
        let nearest = Harness::ALL.into_iter().filter(|it| only.is_none_or(|only| only == *it));
        let errors: Vec<String> = nearest.filter_map(|it| shipped(it, name).err()).map(|it| it.to_string()).collect();
        let helpful = errors.iter().find(|it| it.contains("did you mean")).cloned();
        return helpful.unwrap_or_else(|| {
            format!("{name} is not the name of a profile that ships; `benchwright profiles` lists them")
        });
    }
    let names: Vec<&str> = found.iter().map(|it| it.name()).collect();
    format!("the harnesses {} have a profile {name}; choose one with --harness", names.join(" and "))
}

/// Lists the profiles of one harness, with one block per profile.
fn list(harness: Harness) -> String {
    let mut text = format!("{}\n", harness.name());
    for name in shipped_names(harness) {
        let Ok(template) = shipped(harness, name) else { continue };
        let options =
            LocalOptions { profile: Some(name.to_owned()), harness: Some(harness), ..LocalOptions::default() };
        let source = RunSource::Simulator { preset: SimulatorPreset::Tiny, model: None };
        // `writeln!` to a String does not fail.
        let _ = writeln!(text, "  {name}");
        let mut line = |label: &str, what: &str| {
            let _ = writeln!(text, "    {label:<11}{what}");
        };
        line("purpose", &purpose(template));
        match input::from_source(&source, &options) {
            // Here profiles are read with the simulator as the target, but nop needs a server that the run starts.
            _ if harness == Harness::Nop => {
                line("load", "none: the profile measures how the server of target.server starts")
            }
            Ok(input) => {
                let summary = Summary::new(&input.workload);
                line("load", &summary.load);
                line("lengths", &summary.lengths);
            }
            Err(error) => line("needs", &needs(&error.to_string())),
        }
        let variables: Vec<String> = template_variables(template)
            .into_iter()
            .map(|it| match it.default.filter(|it| !it.contains('|')) {
                Some(default) => format!("{}={default}", it.name),
                None => it.name,
            })
            .collect();
        if !variables.is_empty() {
            line("variables", &variables.join(", "));
        }
    }
    text.push('\n');
    text
}

/// Returns what a profile needs before it can run: the last part of the first problem in `error`.
fn needs(error: &str) -> String {
    let line = error.lines().find(|it| it.contains("; ")).or(error.lines().next()).unwrap_or_default();
    line.rsplit_once("; ").map_or(line, |(_, remedy)| remedy).trim().to_owned()
}

fn show(harness: Harness, name: &str) -> anyhow::Result<String> {
    let template = shipped(harness, name)?;
    let variables = template_variables(template);
    let mut text = format!("# {} of {}", name.trim_end_matches(".in").trim_end_matches(".yaml"), harness.name());
    for variable in variables {
        let default = variable.default.map(|it| format!(" (default {it})")).unwrap_or_default();
        let _ = write!(text, "\n# --variable {}=...{default}", variable.name);
    }
    Ok(format!("{text}\n{template}"))
}
