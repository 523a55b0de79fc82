//! The text of the BenchmarkRun, with one comment per block. Pure.

use crds::{
    AnyValue,
    benchmark_run::{GROUP, KIND, Objective, SimulatorPreset, VERSION},
};
use serde_json::json;

use super::{
    answers::{Answers, Target},
    load::{Levels, Load},
};

/// The comment for a run that names no model.
const SERVED_MODEL: &str =
    "    # Requests name the model that the server serves. If it serves several models, name one:
    # model: NAME
";
/// The comment for a run without objectives, with an example.
const NO_OBJECTIVES: &str = r#"  # Limits that each stage must meet; docs/objectives.md has all figures. For an example, remove each # below:
  # slo:
  #   objectives:
  #   - {name: ttft-p99, metric: ttft, stat: p99, stage: "*", max: 500ms}
"#;

/// Returns the text of the BenchmarkRun for these answers.
pub(super) fn text(answers: &Answers) -> String {
    let Answers { target, model, load, objectives } = answers;
    let profile = profile(load);
    let name = profile.name.replace('_', "-");
    let head = format!(
        "\
# A BenchmarkRun from `benchwright init`. docs/reference-fields.md explains every field.
apiVersion: {GROUP}/{VERSION}
kind: {KIND}
metadata:
  # The name of the run and of its results folder. In a cluster, each run needs a new name.
  name: {name}
spec:
"
    );
    [head, self::target(target), self::model(model.as_deref()), profile.text(load), slo(objectives)].concat()
}

fn target(target: &Target) -> String {
    match target {
        Target::Url(url) => format!(
            "  # The server to measure, by its base URL without /v1. In a cluster, serviceRef can name a Service.
  target:
    url: {}
",
            json!(url)
        ),
        Target::Simulator(preset) => format!(
            "  # The server to measure: the embedded simulator, with the preset GPU, Tiny or Instant.
  # For a real server write its base URL in place of the simulator, such as url: http://localhost:8000
  target:
    simulator: {{preset: {}}}
",
            json!(SimulatorPreset::from(*preset)).as_str().unwrap_or_default()
        ),
    }
}

fn model(model: Option<&str>) -> String {
    match model {
        Some(model) => format!("    # The model in requests.\n    model: {}\n", json!(model)),
        None => SERVED_MODEL.to_owned(),
    }
}

/// A shipped profile, and its variable for the levels.
struct Profile {
    name: &'static str,
    variable: &'static str,
    /// The sentence that explains what one level is.
    level: &'static str,
}

fn profile(load: &Load) -> Profile {
    match load.levels {
        Levels::Concurrency(_) => Profile {
            name: "concurrency_ramp",
            variable: "concurrencies",
            level: "Each number in concurrencies is a stage with this number of requests in flight.",
        },
        Levels::Rate(_) => Profile {
            name: "poisson_sweep",
            variable: "rates",
            level: "Each number in rates is a stage with this number of requests per second.",
        },
    }
}

impl Profile {
    fn text(&self, load: &Load) -> String {
        let (Profile { name, variable, level }, Load { levels, isl, osl, duration }) = (self, load);
        let levels = levels.joined(", ");
        format!(
            "  # The load: a profile that ships. `benchwright profiles` lists all with their variables.
  # {level}
  # duration is the time of each stage, isl and osl are the mean tokens of prompts and answers.
  harness: benchwright
  profile:
    name: {name}
    variables:
      {variable}: \"[{levels}]\"
      duration: {duration}
      isl: {isl}
      osl: {osl}
"
        )
    }
}

fn slo(objectives: &[Objective]) -> String {
    if objectives.is_empty() {
        return NO_OBJECTIVES.to_owned();
    }
    let rows: String = objectives.iter().map(row).collect();
    format!(
        "  # Limits that each stage must meet; docs/objectives.md has all figures.
  # `benchwright run --gate` returns 1 if one is missed.
  slo:
    objectives:
{rows}"
    )
}

/// One objective as YAML. Its names and limits have been checked, so they need no quotes.
fn row(objective: &Objective) -> String {
    let Objective { name, metric, stat, stage, max, min } = objective;
    let stat = stat.map(|it| format!(", stat: {}", it.name())).unwrap_or_default();
    let stage = stage.as_ref().map(|it| format!(", stage: {}", json!(it))).unwrap_or_default();
    let limit = |side: &str, it: &Option<AnyValue>| it.as_ref().map(|it| format!(", {side}: {}", it.text()));
    let limit = limit("max", max).or_else(|| limit("min", min)).unwrap_or_default();
    format!("    - {{name: {name}, metric: {}{stat}{stage}{limit}}}\n", metric.name())
}
