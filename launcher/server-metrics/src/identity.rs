//! What a server reports about itself: engine, version, models, KV cache settings and GPUs. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crds::{benchmark_run::MetricsKind, wording::one_line};
use serde_json::Value;

use crate::{families::Role, parse::labels, series::Address};

/// Maximum length of a text from a server, in characters.
const MAX_CHARS: usize = 200;
/// Maximum number of models per server.
const MAX_MODELS: usize = 20;
/// Maximum number of KV cache settings; vLLM 0.32 has about 20.
const MAX_SETTINGS: usize = 64;
/// Labels of `cache_config_info` that are not KV cache settings.
const NO_SETTINGS: [&str; 2] = ["engine", "model_name"];

/// What one address, or several addresses with the same values, reported about themselves. Values that were not reported are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub engine: Option<MetricsKind>,
    pub version: Option<String>,
    pub models: Vec<Model>,
    /// The labels of vLLM's `cache_config_info`, except unset ones.
    pub cache_config: BTreeMap<String, String>,
    /// The names of GPUs with their counts.
    pub gpus: BTreeMap<String, u64>,
}

/// A model that the server lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub id: String,
    /// Maximum number of tokens in a prompt and its output together.
    pub max_model_len: Option<u64>,
}

impl Identity {
    /// Reads the identity from the metrics of an address.
    pub fn from_metrics(address: &Address) -> Identity {
        let mut identity = Identity { engine: address.engine, ..Identity::default() };
        let mut gpus = BTreeMap::<String, BTreeSet<String>>::new();
        for (role, text) in &address.infos {
            let Some(labels) = labels(text) else { continue };
            let value = |name: &str| labels.iter().find(|it| it.name == name).map(|it| it.value.as_ref());
            match role {
                Role::CacheConfig => {
                    let settings = labels.iter().filter(|it| !NO_SETTINGS.contains(&it.name) && it.value != "None");
                    for (name, value) in settings.map(|it| (shown(it.name), shown(&it.value))) {
                        if identity.cache_config.len() < MAX_SETTINGS || identity.cache_config.contains_key(&name) {
                            identity.cache_config.insert(name, value);
                        }
                    }
                }
                Role::Running => {
                    let model = value("model_name").map(|it| Model { id: shown(it), max_model_len: None });
                    identity.models.extend(model.filter(|it| !identity.models.contains(it)));
                    identity.models.truncate(MAX_MODELS);
                }
                _ => {
                    let Some(name) = value("modelName") else { continue };
                    let which = value("UUID").or(value("gpu")).unwrap_or_default();
                    gpus.entry(shown(name)).or_default().insert(shown(which));
                }
            }
        }
        identity.gpus = gpus.into_iter().map(|(name, which)| (name, which.len() as u64)).collect();
        identity
    }
}

/// Reads the version from the response to vLLM's `/version` or SGLang's `/get_server_info`.
pub fn version(text: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(text).ok()?;
    answer["version"].as_str().map(shown).filter(|it| !it.is_empty())
}

/// Reads the models from the response to `/v1/models`. Adapters are left out.
pub fn models(text: &[u8]) -> Option<Vec<Model>> {
    let answer: Value = serde_json::from_slice(text).ok()?;
    let models = answer["data"].as_array()?.iter().filter(|it| !it["parent"].is_string());
    let model = |it: &Value| Some(Model { id: shown(it["id"].as_str()?), max_model_len: it["max_model_len"].as_u64() });
    Some(models.filter_map(model).take(MAX_MODELS).collect())
}

/// A text from a server on one line, with a maximum length.
pub fn shown(text: &str) -> String {
    one_line(text).chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::series::{Answer, Keep, Store};

    fn identity(text: &str) -> Identity {
        let mut store = Store::default();
        let address = store.add_address(None);
        let answer = Answer { at: Duration::ZERO, took: Duration::ZERO, text: Some(text.as_bytes()), edge: false };
        store.record(address, answer, Keep::Known);
        Identity::from_metrics(&store.addresses()[address])
    }

    #[test]
    fn vllm_tells_its_cache_and_its_model() {
        let found = identity(
            "vllm:num_requests_running{engine=\"0\",model_name=\"org/m\"} 0\n\
             vllm:num_requests_running{engine=\"1\",model_name=\"org/m\"} 0\n\
             vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"4096\",sliding_window=\"None\"} 1.0\n",
        );
        assert_eq!(found.engine, Some(MetricsKind::Vllm));
        assert_eq!(found.models, [Model { id: "org/m".into(), max_model_len: None }]);
        let settings = [("block_size", "16"), ("num_gpu_blocks", "4096")];
        assert_eq!(found.cache_config, settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn settings_are_kept_within_a_bound() {
        let long = "x".repeat(500);
        let info = |from: u32| {
            let labels: Vec<String> = (from..from + 50).map(|it| format!("setting_{it:03}=\"{it}\"")).collect();
            format!("vllm:cache_config_info{{{},long=\"{long}\"}} 1\n", labels.join(","))
        };
        let found = identity(&[0, 50, 100].map(info).concat());
        assert_eq!((found.cache_config.len(), found.cache_config["long"].len()), (64, 200));
    }

    #[test]
    fn gpus_are_counted_by_their_names() {
        let found = identity(
            "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"a\",modelName=\"NVIDIA H100\"} 9\n\
             DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"a\",modelName=\"NVIDIA H100\"} 9\n\
             DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"b\",modelName=\"NVIDIA H100\"} 9\n",
        );
        assert_eq!(found.gpus, [("NVIDIA H100".to_owned(), 2)].into());
    }

    #[test]
    fn answers_that_are_no_such_json_tell_nothing() {
        assert_eq!(version(br#"{"version":"0.32.0"}"#).as_deref(), Some("0.32.0"));
        for text in ["", "{}", "[1]", "{\"version\": 7}", "<html>"] {
            assert_eq!((version(text.as_bytes()), models(text.as_bytes())), (None, None), "{text}");
        }
        let listed = models(br#"{"data":[{"id":"m","max_model_len":2048},{"id":"a","parent":"m"},{"x":1}]}"#).unwrap();
        assert_eq!(listed, [Model { id: "m".into(), max_model_len: Some(2_048) }]);
    }
}
