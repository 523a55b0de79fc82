//! Tests how reports show the distribution of requests over the replicas of a server in a cluster.

use crds::benchmark_run::Distribution;
use document::{CalledReplicaDocument, Parts, ReportDocument, ServerReplicasDocument};
use report::markdown;

use super::{fixture::Fixture, json_of_report};

fn replicas(fallback: Option<&str>) -> ServerReplicasDocument {
    let one = |url: &str, requests| CalledReplicaDocument { url: url.into(), requests };
    let called = match fallback {
        None => vec![one("http://10.0.0.5:8000", 26), one("http://10.0.0.7:8000", 24)],
        Some(_) => Vec::new(),
    };
    let distribution = Distribution::LeastOutstanding;
    ServerReplicasDocument { asked: 2, distribution, called, fallback: fallback.map(Into::into) }
}

#[test]
fn the_requests_of_each_replica_are_in_both_reports() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let replicas = replicas(None);
    let report = Parts { server_replicas: Some(&replicas), ..fixture.report(&analysed) };
    let document = json_of_report(&report);
    assert_eq!(document["serverReplicas"]["called"][1]["requests"], 24);
    assert!(document["serverReplicas"].get("fallback").is_none());
    assert_eq!(ReportDocument::read(&document.to_string()).unwrap().server_replicas, Some(replicas.clone()));
    let text = markdown::render(&report.document().unwrap());
    for part in ["## Replicas", "fewest requests in flight (LeastOutstanding)", "| 0 | http://10.0.0.5:8000 | 26 |"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!markdown::render(&fixture.report(&analysed).document().unwrap()).contains("## Replicas"));
}

#[test]
fn a_report_says_why_the_service_was_called_in_place_of_the_replicas() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let replicas = replicas(Some("x-pods resolves to 1 of 2 expected addresses"));
    let text =
        markdown::render(&Parts { server_replicas: Some(&replicas), ..fixture.report(&analysed) }.document().unwrap());
    assert!(text.contains("x-pods resolves to 1 of 2 expected addresses") && !text.contains("| replica |"), "{text}");
}
