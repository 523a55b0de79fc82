//! Tests the endpoint with a real Python process and a fake vLLM (`tests/fake`), which has the call signatures of vLLM.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use offline_engine::{OfflineEngineError, Options};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

/// A running endpoint.
struct Serving {
    url: String,
    client: Client,
    end: Option<oneshot::Sender<()>>,
    ended: JoinHandle<Result<(), OfflineEngineError>>,
    folder: tempfile::TempDir,
}

/// Creates a program that runs Python with the fake vLLM, and stores its stderr.
fn python(folder: &Path, environment: &str) -> PathBuf {
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake");
    let (path, log) = (folder.join("python"), folder.join("log"));
    let text = format!(
        "#!/bin/sh\nexport PYTHONPATH='{}' PYTHONDONTWRITEBYTECODE=1 {environment}\nexec python3 \"$@\" 2> '{}'\n",
        fake.display(),
        log.display()
    );
    fs::write(&path, text).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&path, executable).unwrap();
    path
}

impl Serving {
    async fn start(environment: &str) -> Serving {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let arguments = ["m", "--max-model-len", "100", "--enforce-eager"].map(Into::into).to_vec();
        let options = Options { python: python(folder.path(), environment).into(), arguments, model: "m".into() };
        let (end, shutdown) = oneshot::channel::<()>();
        let shutdown = async {
            let _ = shutdown.await;
        };
        // Fails if another test has already installed a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let ended = tokio::spawn(offline_engine::serve(options, listener, shutdown));
        Serving { url, client: Client::builder().no_proxy().build().unwrap(), end: Some(end), ended, folder }
    }

    /// Starts an endpoint, and waits until its model is loaded.
    async fn ready(environment: &str) -> Serving {
        let serving = Serving::start(environment).await;
        for _ in 0..1_000 {
            if serving.get("/health").await.0 == StatusCode::OK {
                return serving;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the stand-in was not loaded: {}", serving.log());
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    async fn log_has(&self, part: &str) -> bool {
        for _ in 0..500 {
            if self.log().contains(part) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let response = self.client.get(format!("{}{path}", self.url)).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    async fn post(&self, body: &Value) -> (StatusCode, String) {
        let response = self.client.post(format!("{}/v1/completions", self.url)).body(body.to_string()).send().await;
        let response = response.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    async fn end(mut self) -> Result<(), OfflineEngineError> {
        drop(self.end.take());
        self.ended.await.unwrap()
    }
}

/// Returns the objects of a stream, without its last event.
fn events(text: &str) -> Vec<Value> {
    let mut lines: Vec<&str> = text.split("\n\n").filter_map(|it| it.strip_prefix("data: ")).collect();
    assert_eq!(lines.pop(), Some("[DONE]"), "{text}");
    lines.iter().map(|it| serde_json::from_str(it).unwrap()).collect()
}

#[tokio::test]
async fn a_stream_has_a_chunk_for_each_step_of_the_engine() {
    let serving = Serving::ready("").await;
    let body = json!({"model": "m", "prompt": [5, 6, 7], "max_tokens": 3, "stream": true, "stream_options": {"include_usage": true},
                      "return_token_ids": true, "ignore_eos": true});
    let (status, text) = serving.post(&body).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    let events = events(&text);
    let ids: Vec<&Value> = events.iter().filter_map(|it| it["choices"].get(0)).map(|it| &it["token_ids"]).collect();
    assert_eq!(ids, [&json!([3]), &json!([4]), &json!([5])]);
    assert_eq!(events[2]["choices"][0]["finish_reason"], "length");
    assert_eq!(events[3]["usage"], json!({"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}));
    // The log contains the output, and the sampling defaults from the model's own configuration.
    let log = serving.log();
    assert!(log.contains("fake: loading m [('enforce_eager', True), ('max_model_len', 100)]"), "{log}");
    assert!(log.contains(" 0.5 DELTA"), "{log}");
    serving.end().await.unwrap();
}

#[tokio::test]
async fn several_prompts_are_one_answer() {
    let serving = Serving::ready("").await;
    let (status, text) = serving.post(&json!({"prompt": [[1], [1, 2]], "max_tokens": 2, "temperature": 0})).await;
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, answer["choices"].as_array().unwrap().len()), (StatusCode::OK, 2), "{text}");
    assert_eq!(
        (answer["choices"][0]["text"].as_str(), answer["choices"][1]["text"].as_str()),
        (Some(" 1 2"), Some(" 2 3"))
    );
    assert_eq!(answer["usage"], json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}));
    let (_, text) = serving.post(&json!({"prompt": "two words", "max_tokens": 1})).await;
    assert!(text.contains(r#""text":" 2""#), "{text}");
    let (status, models) = serving.get("/v1/models").await;
    assert!(status == StatusCode::OK && models.contains(r#""max_model_len":100"#), "{models}");
    assert!(serving.get("/version").await.1.contains("vllm 0.0-fake"));
    serving.end().await.unwrap();
}

#[tokio::test]
async fn what_the_engine_refuses_is_an_error_of_its_request() {
    let serving = Serving::ready("").await;
    for (body, part) in [
        (json!({"prompt": vec![1; 99], "max_tokens": 5}), "the prompt has 99 tokens, and the context 100"),
        (json!({"prompt": [1], "temperature": -1, "stream": true}), "temperature must be non-negative"),
        (json!({"prompt": [1], "no_such_field": 1}), "no_such_field"),
        (json!({"prompt": [1], "logprobs": 5}), "no log probabilities"),
        (json!({"prompt": ""}), "prompt is empty"),
    ] {
        let (status, text) = serving.post(&body).await;
        assert!(status == StatusCode::BAD_REQUEST && text.contains(part), "{status} {text}");
    }
    let (status, text) = serving.post(&json!({"model": "other", "prompt": "a"})).await;
    assert!(status == StatusCode::NOT_FOUND && text.contains("`other` does not exist"), "{text}");
    let (status, text) = serving.get("/v1/chat/completions").await;
    assert!(status == StatusCode::NOT_FOUND && text.contains("set the api of the profile to completions"), "{text}");
    // The engine still works after the error.
    assert_eq!(serving.post(&json!({"prompt": [1], "max_tokens": 1})).await.0, StatusCode::OK);
    serving.end().await.unwrap();
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_request() {
    let serving = Serving::ready("FAKE_STEP_S=0.05").await;
    let body = json!({"prompt": [1], "max_tokens": 90, "stream": true}).to_string();
    let request = serving.client.post(format!("{}/v1/completions", serving.url)).body(body);
    let mut response = request.send().await.unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    drop(response);
    assert!(serving.log_has("fake: aborted 0").await, "{}", serving.log());
    serving.end().await.unwrap();
}

#[tokio::test]
async fn an_engine_that_dies_ends_its_requests_and_the_endpoint() {
    let serving = Serving::ready("FAKE_DIES_AT=3").await;
    let (status, text) = serving.post(&json!({"prompt": [1], "max_tokens": 9, "stream": true})).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    assert!(text.contains(r#""error""#) && text.contains("ended with exit code 1"), "{text}");
    let error = serving.ended.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("ended with exit code 1"), "{error}");
    let log = fs::read_to_string(serving.folder.path().join("log")).unwrap();
    assert!(log.contains("the fake engine was told to die"), "{log}");
}

#[tokio::test]
async fn a_model_that_is_not_there_ends_the_endpoint_with_its_reason_in_the_log() {
    let serving = Serving::start("FAKE_NO_MODEL=1").await;
    let error = serving.ended.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("ended with exit code 1"), "{error}");
    let log = fs::read_to_string(serving.folder.path().join("log")).unwrap();
    assert!(log.contains("m is no model"), "{log}");
}

#[tokio::test]
async fn a_python_that_is_not_there_is_named_with_the_remedy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = Options { python: "/no/python".into(), arguments: Vec::new(), model: "m".into() };
    let error = offline_engine::serve(options, listener, std::future::pending()).await.unwrap_err().to_string();
    assert!(error.contains("cannot start /no/python") && error.contains("BENCHWRIGHT_PYTHON"), "{error}");
}
