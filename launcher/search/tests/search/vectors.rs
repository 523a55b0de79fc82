//! Compares the step rule with vectors from the Python implementation with which the rule was simulated.

use search::{Answer, Counts, Next, Plan, Role, Settings, Stopped, Trial, Unit, Verdict, next};
use serde_json::Value;

fn settings(of: &Value) -> Settings {
    let is_closed = of["closed"].as_bool().unwrap_or_default();
    let settings = Settings::new(if is_closed { Unit::Concurrency } else { Unit::RequestsPerSecond });
    Settings { highest: of["highest"].as_f64().unwrap_or(settings.highest), ..settings }
}

fn counts(of: &Value) -> Vec<Counts> {
    let pair = |it: &Value| Counts { misses: it[0].as_f64().unwrap(), requests: it[1].as_f64().unwrap() };
    of.as_array().into_iter().flatten().map(pair).collect()
}

fn role(of: &Value) -> Role {
    match (of["role"].as_str().unwrap(), of["growing"].as_bool().unwrap_or_default()) {
        ("warmUp", _) => Role::WarmUp,
        ("explore", true) => Role::Grow,
        ("explore", false) => Role::Narrow,
        ("confirm", _) => Role::Confirm,
        ("fromAbove", _) => Role::FromAbove,
        other => panic!("{other:?}"),
    }
}

fn trial(of: &Value) -> Trial {
    Trial {
        role: role(of),
        load: of["load"].as_f64().unwrap(),
        seconds: of["seconds"].as_f64().unwrap(),
        verdict: match of["verdict"].as_str().unwrap() {
            "pass" => Verdict::Passed,
            "fail" => Verdict::Failed,
            "undecided" | "none" => Verdict::Undecided,
            other => panic!("{other}"),
        },
        belief: of["belief"].as_f64().unwrap(),
        counts: counts(&of["effective"]),
    }
}

fn step(of: &Value) -> Next {
    let run = &of["run"];
    if run.is_null() {
        let stopped = serde_json::from_value::<Stopped>(of["reason"].clone()).unwrap();
        return Next::Answer(Answer { load: of["answer"].as_f64(), from_calm: of["from_calm"].as_f64(), stopped });
    }
    Next::Run(Plan {
        role: role(run),
        load: run["load"].as_f64().unwrap(),
        seconds: run["seconds"].as_f64().unwrap(),
        risk: run["risk"].as_f64().unwrap_or_default(),
        climbing: run["climbing"].as_bool().unwrap_or_default(),
        carried: counts(&run["carry"]),
    })
}

/// Rounds the numbers of a step, as in the vectors.
fn rounded(step: Next) -> Next {
    let near = |it: f64| (it * 1e9).round() / 1e9;
    match step {
        Next::Run(plan) => Next::Run(Plan { risk: near(plan.risk), seconds: near(plan.seconds), ..plan }),
        answer => answer,
    }
}

#[test]
fn every_vector_has_its_next_step() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("vectors.json")).unwrap();
    assert_eq!(vectors.len(), 12);
    for it in vectors {
        let trials: Vec<Trial> = it["trials"].as_array().unwrap().iter().map(trial).collect();
        assert_eq!(rounded(next(&settings(&it["settings"]), &trials)), rounded(step(&it["next"])), "{}", it["name"]);
    }
}
