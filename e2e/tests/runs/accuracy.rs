//! Tests of runs with scored answers: the accuracy figures and the verdict in the status, and the resulting outcome.

use anyhow::Context;
use crds::{AccuracyVerdict, Met, Outcome, status::Phase};
use e2e::{Cluster, Namespace, PATIENT};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use serde_json::json;

use crate::runs::SOON;

/// A run with six rows whose expected answers no simulator returns. `least` is the minimum percentage of correct answers.
fn scored(least: u32) -> anyhow::Result<String> {
    let profile = format!(
        "{{requests: {{dataSet: {{file: rows.jsonl, row: {{prompt: question}}, output: 8}}}}, \
          stages: [{{load: {{closed: {{concurrency: 2, count: 6}}}}}}], \
          accuracy: {{check: exactMatch, expected: wanted, limits: {{atLeast: {{exact_match: {least}}}}}}}}}"
    );
    let profile = serde_json::to_string(&profile)?;
    Ok(format!(
        "target: {{simulator: {{}}}}\nharness: benchwright\nstorage: {{none: {{}}}}\n{PATIENT}\n\
         profile: {{inline: {profile}, files: [{{configMapRef: {{name: rows, key: rows.jsonl}}}}]}}\n"
    ))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_with_wrong_answers_does_not_pass_where_the_profile_bounds_them() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "accuracy").await?;
    let row = |it: u32| format!("{}\n", json!({"question": format!("question {it}"), "wanted": "no such answer"}));
    let rows: String = (0..6).map(row).collect();
    let map = serde_json::from_value(json!({"metadata": {"name": "rows"}, "data": {"rows.jsonl": rows}}))?;
    namespace.api::<ConfigMap>().create(&PostParams::default(), &map).await?;
    namespace.create_run("lenient", &scored(0)?).await?;
    namespace.create_run("strict", &scored(50)?).await?;
    let lenient = namespace.wait_finished("lenient", SOON).await?;
    assert_eq!((lenient.phase, lenient.outcome), (Some(Phase::Succeeded), Some(Outcome::Passed)), "{lenient:?}");
    let strict = namespace.wait_finished("strict", SOON).await?;
    assert_eq!((strict.phase, strict.outcome), (Some(Phase::Failed), Some(Outcome::Invalid)), "{strict:?}");
    let ready = strict.conditions.iter().find(|it| it.kind == "Ready").context("a condition Ready")?;
    assert!(ready.message.contains("AccuracyMissed: the answers are worse than exactMatch allows"), "{ready:?}");
    for (status, verdict, met) in
        [(lenient, AccuracyVerdict::Passed, Met::True), (strict, AccuracyVerdict::Failed, Met::False)]
    {
        let accuracy = status.accuracy.context("the status has the accuracy")?;
        assert_eq!((accuracy.check.as_str(), accuracy.verdict, accuracy.scored), ("exactMatch", verdict, 6));
        let figure = accuracy.figures.first().context("a figure")?;
        assert_eq!((figure.name.as_str(), figure.value.as_str(), figure.met), ("exact_match", "0.0", Some(met)));
    }
    Ok(())
}
