//! [I/O] Requests a server's engine, release and model for the report. The load does not depend on them: if the server refuses, is late or
//! answers in another format, the fields stay empty, and this is not an error.

use std::time::Duration;

use crds::{server_engine::ServerEngine, wording::one_line};
use measurement::server_identity::ServerIdentity;
use serde_json::Value;

use super::{Client, Target, probe::MODELS};
use clock::Clock;

/// The path at which vLLM and many other engines report their version.
const VERSION: &str = "/version";
/// Timeout of each request. A ready server answers within milliseconds, but a gateway that does not know a path can hang.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum length of an answer, in bytes. SGLang's answer lists its flags and states: about 10 KiB.
const MAX_ANSWER: usize = 1 << 20;
/// Maximum length of a stored text, in characters. The server chooses the text.
const MAX_CHARS: usize = 200;

/// Requests a server's identity. `model` is the name that the load uses for its model. Takes at most 4 s.
pub async fn ask(target: &Target, model: &str) -> ServerIdentity {
    let client = Client::new(target.clone(), Clock::start());
    let (models, version) = tokio::join!(get(&client, MODELS), get(&client, VERSION));
    let mut answers = Answers { models, version, info: None };
    // Some engines report their version at another path.
    for engine in ServerEngine::ALL {
        if answers.identity(model).version.is_none()
            && let Some(path) = engine.row().version_path.filter(|it| *it != VERSION)
        {
            answers.info = Some((engine, get(&client, path).await));
        }
    }
    answers.identity(model)
}

/// One response: its JSON body, or null if there was none.
#[derive(Debug, Default)]
struct Answer {
    body: Value,
    server: Option<Box<str>>,
}

async fn get(client: &Client, path: &'static str) -> Answer {
    let request = client.target().get(path);
    let Ok(Ok(fetched)) = clock::limit(TIMEOUT, client.fetch(&request, MAX_ANSWER)).await else {
        return Answer::default();
    };
    let body =
        if (200..300).contains(&fetched.status) { serde_json::from_slice(&fetched.body) } else { Ok(Value::Null) };
    Answer { body: body.unwrap_or_default(), server: fetched.server }
}

struct Answers {
    models: Answer,
    version: Answer,
    /// The last engine whose own version path was requested because no version was known, and the response.
    info: Option<(ServerEngine, Answer)>,
}

impl Answers {
    fn identity(&self, model: &str) -> ServerIdentity {
        let Answers { models, version, info } = self;
        let listed = models.body["data"].as_array();
        let card = listed.and_then(|it| it.iter().find(|card| card["id"] == model)).unwrap_or(&Value::Null);
        // `owned_by` in OpenAI's list of models names the engine, for servers that run their own models.
        let owner = text(&card["owned_by"]);
        let told_by_info = info.as_ref().filter(|it| it.1.body.is_object()).map(|it| it.0.row().id.to_owned());
        let info = info.as_ref().map(|it| &it.1);
        let of_info = |name: &str| info.and_then(|it| text(&it.body[name]));
        ServerIdentity {
            engine: owner.or(told_by_info),
            version: text(&version.body["version"]).or_else(|| of_info("version")),
            simulator: text(&version.body["simulator"]),
            server: [Some(models), Some(version), info]
                .into_iter()
                .flatten()
                .find_map(|it| it.server.as_deref())
                .and_then(kept),
            model: text(&card["id"]),
            model_root: text(&card["root"]),
            model_revision: text(&card["revision"]).or_else(|| of_info("revision")),
            max_model_len: card["max_model_len"].as_u64(),
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().and_then(kept)
}

fn kept(text: &str) -> Option<String> {
    let text: String = one_line(text).trim().chars().take(MAX_CHARS).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(models: Value, version: Value, info: Value, expected: ServerIdentity) {
        let answer = |body| Answer { body, server: None };
        let answers = Answers {
            models: answer(models),
            version: answer(version),
            info: Some((ServerEngine::Sglang, answer(info))),
        };
        assert_eq!(answers.identity("org/m"), expected);
    }

    fn some(text: &str) -> Option<String> {
        Some(text.into())
    }

    #[test]
    fn vllm_and_sglang_tell_themselves_and_the_model() {
        let models = |owner: &str| {
            let card = json!({"id": "org/m", "owned_by": owner, "root": "/models/m", "max_model_len": 4_096});
            json!({"data": [{"id": "adapter", "root": "x"}, card]})
        };
        let expected = |engine: &str, version: &str| ServerIdentity {
            engine: some(engine),
            version: some(version),
            model: some("org/m"),
            model_root: some("/models/m"),
            max_model_len: Some(4_096),
            ..ServerIdentity::default()
        };
        check(models("vllm"), json!({"version": "0.11.0"}), Value::Null, expected("vllm", "0.11.0"));
        let info = json!({"version": "0.5.4", "revision": "abc", "api_key": "sk-1"});
        let sglang = ServerIdentity { model_revision: some("abc"), ..expected("sglang", "0.5.4") };
        check(models("sglang"), Value::Null, info, sglang);
    }

    #[test]
    fn answers_of_another_form_tell_nothing() {
        for body in [Value::Null, json!([]), json!({"data": {}}), json!({"data": [1, {"id": "other"}]}), json!("x")] {
            check(body.clone(), body.clone(), Value::Null, ServerIdentity::default());
        }
        let version = json!({"version": 7, "simulator": {}});
        let card = json!({"data": [{"id": "org/m", "root": null, "max_model_len": -1, "owned_by": "  "}]});
        check(card, version, Value::Null, ServerIdentity { model: some("org/m"), ..ServerIdentity::default() });
        let long = json!({"version": format!("1\n{}", "x".repeat(1_000))});
        let kept = format!("1 {}", "x".repeat(MAX_CHARS - 2));
        check(Value::Null, long, Value::Null, ServerIdentity { version: some(&kept), ..ServerIdentity::default() });
    }
}
