//! Serializes an engine as its id, such as `vllm`. Only engines with known log texts have one here.

use std::sync::LazyLock;

use crds::server_engine::ServerEngine;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

static IDS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| ServerEngine::with_startup_log().map(|(engine, _)| engine.row().id).collect());

#[expect(clippy::ref_option, reason = "serde passes a reference")]
pub fn serialize<S: Serializer>(engine: &Option<ServerEngine>, serializer: S) -> Result<S::Ok, S::Error> {
    engine.map(|it| it.row().id).serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ServerEngine>, D::Error> {
    let Some(id) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let found = ServerEngine::with_startup_log().map(|it| it.0).find(|it| it.row().id == id);
    found.map(Some).ok_or_else(|| D::Error::unknown_variant(&id, &IDS))
}

#[cfg(test)]
mod tests {
    use crds::server_engine::ServerEngine;

    use serde::de::{Error as _, value::Error as ValueError};

    use crate::Startup;

    fn read(engine: &str) -> Result<Startup, String> {
        let text = format!(r#"{{"outcome": "ready", "engine": {engine}, "log": {{"lines": 1}}}}"#);
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_engine_is_its_id() {
        for (engine, _) in ServerEngine::with_startup_log() {
            let id = serde_json::Value::from(engine.row().id);
            let read = read(&id.to_string()).unwrap();
            assert_eq!(read.engine, Some(engine));
            assert_eq!(serde_json::to_value(&read).unwrap()["engine"], id);
        }
        assert_eq!(read("null").unwrap().engine, None);
    }

    #[test]
    fn an_engine_without_a_log_of_its_own_is_unknown() {
        for id in ["simulator", "VLLM", ""] {
            let error = read(&format!("\"{id}\"")).unwrap_err();
            let expected = ValueError::unknown_variant(id, &super::IDS).to_string();
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
