//! Tests with random BenchmarkRuns: none of them crashes the reader, and the API server judges them like the reader.

use e2e::{
    Cluster, Namespace,
    random_runs::{Judgement, RandomRuns, judge},
};
use kube::{api::PostParams, core::Request};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

/// Number of runs that the reader judges. `make fuzz` uses a million.
fn runs_to_read() -> u32 {
    std::env::var("RANDOM_RUNS").ok().and_then(|it| it.parse().ok()).unwrap_or(5_000)
}

/// Number of runs that the API server judges.
const RUNS_TO_APPLY: u32 = 5_000;

#[test]
fn no_random_run_brings_the_reader_down() -> anyhow::Result<()> {
    let random = RandomRuns::new()?;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut right, mut against_definition, mut against_rules) = (0, 0, 0);
    for _ in 0..runs_to_read() {
        match judge(&random.draw(&mut rng))? {
            Judgement::Right => right += 1,
            Judgement::AgainstDefinition(_) => against_definition += 1,
            Judgement::AgainstRules(_) => against_rules += 1,
        }
    }
    println!(
        "figure 6: {} random runs: no panic; {right} right, {against_definition} against the definition, {against_rules} against the operator's \
         rules",
        runs_to_read()
    );
    let tenth = runs_to_read() / 10;
    assert!(
        right > tenth && against_definition > tenth,
        "the draw is one-sided: {right} of {} are right",
        runs_to_read()
    );
    assert!(against_rules > tenth / 50, "the draw does not reach the operator's rules: {against_rules}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_api_server_judges_random_runs_as_the_reader_does() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "random").await?;
    let random = RandomRuns::new()?;
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let path = format!("/apis/benchwright.dev/v1alpha1/namespaces/{}/benchmarkruns", namespace.name);
    let strict = PostParams { dry_run: true, field_manager: None };
    let (mut accepted, mut refused, mut differences) = (0, 0, Vec::new());
    for _ in 0..RUNS_TO_APPLY {
        let run = random.draw(&mut rng);
        let mut request = Request::new(&path).create(&strict, serde_json::to_vec(&run)?)?;
        let with_validation = format!("{}&fieldValidation=Strict", request.uri());
        *request.uri_mut() = with_validation.parse()?;
        let refusal = namespace.client.request::<Value>(request).await.err();
        match refusal {
            Some(_) => refused += 1,
            None => accepted += 1,
        }
        let ours = judge(&run)?;
        // The operator checks all rules between fields, and the API server checks some of them.
        let alike = match (&refusal, &ours) {
            (None, Judgement::AgainstDefinition(_)) | (Some(_), Judgement::Right) => false,
            (None | Some(_), _) => true,
        };
        if !alike {
            differences.push(format!("the API server: {refusal:?}; the reader: {ours:?}; {run}"));
        }
    }
    println!(
        "figure 6: {RUNS_TO_APPLY} dry runs: the API server accepts {accepted} and refuses {refused}; Benchwright decides differently \
         in {} cases",
        differences.len()
    );
    assert_eq!(differences.first(), None, "{} differ", differences.len());
    assert!(accepted > RUNS_TO_APPLY / 10 && refused > RUNS_TO_APPLY / 10);
    Ok(())
}
