//! Tests of traffic classes: what is sent, and the figures of each class.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use engine::{client::Target, issue::LoadError, stop::Stop};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Bytes, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use measurement::record::{ListIndex, RequestOutcome};
use serde_json::{Value, json};
use workload_profiles::workload::{Stage, Workload};

use super::common::*;

/// The model, a body field and a header field of a received request.
type Seen = (String, Value, Option<String>);

/// A server that stores the content of each request by its id, and fails the requests for one of the models.
fn server_that_keeps(seen: &Arc<Mutex<BTreeMap<String, Seen>>>) -> Target {
    let seen = Arc::clone(seen);
    in_process(move |server| {
        let seen = Arc::clone(&seen);
        let service = service_fn(move |request: Request<Incoming>| {
            let seen = Arc::clone(&seen);
            async move {
                let header = |name: &str| request.headers().get(name).map(|it| it.to_str().unwrap().to_owned());
                // The id ends with the stage number and the request number.
                let id = header("x-request-id").unwrap();
                let place = id.rsplitn(3, '-').take(2).collect::<Vec<_>>().join("-");
                let tenant = header("x-tenant");
                let body: Value = serde_json::from_slice(&request.into_body().collect().await?.to_bytes()).unwrap();
                let model = body["model"].as_str().unwrap().to_owned();
                let status = if model == "broken" { 500 } else { 200 };
                seen.lock().unwrap().insert(place, (model, body["priority"].clone(), tenant));
                let answer = "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\ndata: [DONE]\n\n";
                let head = Response::builder().status(status).header("content-type", "text/event-stream");
                Ok::<_, hyper::Error>(head.body(Full::<Bytes>::from(answer)).unwrap())
            }
        });
        tokio::spawn(async move { drop(http1::Builder::new().serve_connection(TokioIo::new(server), service).await) });
    })
}

fn with_classes(stages: Vec<Stage>, assignment: &str) -> Workload {
    let mut workload = workload(stages, 1);
    workload.headers = [("x-tenant".to_owned(), "all".to_owned())].into();
    workload.classes = serde_json::from_value(json!({"assignment": assignment, "classes": [
        {"name": "gold", "weight": 1, "model": "lora-a", "extra": {"priority": 9}, "headers": {"x-tenant": "gold"}},
        {"name": "base", "weight": 2, "output": 7},
        {"name": "bad", "weight": 1, "model": "broken"},
    ]}))
    .unwrap();
    workload
}

#[tokio::test(start_paused = true)]
async fn each_request_holds_the_model_the_fields_and_the_headers_of_its_class() {
    for assignment in ["random", "roundRobin"] {
        let seen = Arc::default();
        let workload = with_classes(vec![paced(50.0, 60), closed(3, 40)], assignment);
        let result = issue(&workload, &server_that_keeps(&seen)).await;
        let records = records(&result);
        assert_eq!(records.len(), 100);
        for record in &records {
            let seen = seen.lock().unwrap()[&format!("{}-{}", record.number, record.stage)].clone();
            let expected = match record.class.unwrap().get() {
                0 => ("lora-a".into(), json!(9), Some("gold".into()), RequestOutcome::Ok),
                1 => ("m".into(), Value::Null, None, RequestOutcome::Ok),
                2 => ("broken".into(), Value::Null, None, RequestOutcome::HttpError(500)),
                other => panic!("there is no class {other}"),
            };
            assert_eq!(record.requested_output_tokens, Some(if record.class == ListIndex::new(1) { 7 } else { 1 }));
            assert_eq!((seen.0, seen.1, seen.2, record.outcome), expected, "{record:?}");
            assert!(assignment == "random" || record.class == ListIndex::new([1, 0, 2, 1][record.number as usize % 4]));
        }
        for (index, tally) in (0..).zip(&result.recorder.classes) {
            let of_class = records.iter().filter(|it| it.class == ListIndex::new(index));
            assert_eq!(tally.requests(), of_class.count() as u64);
            assert_eq!(tally.succeeded() > 0, index != 2);
            assert_eq!(tally.ttft_sent.histogram().len(), tally.succeeded());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_field_that_cannot_be_sent_is_refused_before_the_load() {
    let mut workload = with_classes(vec![closed(1, 1)], "random");
    workload.classes.classes[1].headers.insert("no name".into(), "x".into());
    let target = server_that_keeps(&Arc::default());
    let refused = engine::issue::run_here(&workload, "m", &target, crds::units::Seed(1), &Stop::default()).await;
    assert!(matches!(&refused, Err(LoadError::Headers(_))), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("no name"));
}
