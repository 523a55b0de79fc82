//! Reads the configuration files next to a `tokenizer.json`: `tokenizer_config.json` and `special_tokens_map.json`. Pure.

use serde_json::{Map, Value};

use crate::{Tokenizer, TokenizerError};

/// The special tokens that a chat template can use as variables. Source: `SPECIAL_TOKENS_ATTRIBUTES` of transformers.
const SPECIAL_TOKENS: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];
/// The tokenizer classes that ignore the post-processor of `tokenizer.json`. They use `add_bos_token` (true if absent) and `add_eos_token` instead.
/// Source: `update_post_processor` of transformers 4.46.2. This matters for DeepSeek V3, for example, because its `tokenizer.json` adds no BOS token.
const CONFIGURED: [&str; 4] = ["LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer"];
/// The only special token variable that is a list.
const ADDITIONAL: &str = "additional_special_tokens";
/// The name of the chat template that is used by default.
const DEFAULT: &str = "default";
/// The name of the chat template for chats with tools.
const TOOL_USE: &str = "tool_use";

/// The reason why a configuration file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is not a JSON object.
    #[error("is no JSON object: {reason}; give the file that the model is published with")]
    Format {
        /// What is wrong with it.
        reason: String,
    },
    /// A field has a value of the wrong kind.
    #[error("has a {field} that is no {wanted}; give the file that the model is published with")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The kind of value that it must have.
        wanted: &'static str,
    },
}

/// A chat template with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    name: String,
    source: String,
}

/// The settings that transformers reads from the files next to a `tokenizer.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenizerConfig {
    /// Whether spaces before punctuation are removed after decoding: `clean_up_tokenization_spaces`, false if absent.
    pub cleans_up: bool,
    /// Whether a BOS token is put before a text: `add_bos_token`. `None` if the file does not specify it.
    pub adds_bos: Option<bool>,
    /// Whether an EOS token is put after a text: `add_eos_token`. `None` if the file does not specify it.
    pub adds_eos: Option<bool>,
    /// The class of transformers that reads the tokenizer: `tokenizer_class`.
    class: String,
    /// The special tokens by name, such as `bos_token`, with the values that a chat template can use.
    pub special_tokens: Map<String, Value>,
    chat_templates: Vec<Named>,
}

impl TokenizerConfig {
    /// Reads a `tokenizer_config.json`.
    ///
    /// # Errors
    /// The file is not a JSON object, or `chat_template` is neither a text nor a list of objects with `name` and `template`.
    pub fn parse(json: &[u8]) -> Result<TokenizerConfig, ConfigError> {
        let config = object(json)?;
        let mut special_tokens = Map::new();
        add_tokens(&mut special_tokens, &config);
        Ok(TokenizerConfig {
            cleans_up: config.get("clean_up_tokenization_spaces").and_then(Value::as_bool).unwrap_or_default(),
            adds_bos: config.get("add_bos_token").and_then(Value::as_bool),
            adds_eos: config.get("add_eos_token").and_then(Value::as_bool),
            class: config.get("tokenizer_class").and_then(Value::as_str).unwrap_or_default().to_owned(),
            special_tokens,
            chat_templates: templates(config.get("chat_template"))?,
        })
    }

    /// Adds the special tokens of `special_tokens_map.json` that the configuration lacks.
    ///
    /// # Errors
    /// The file is not a JSON object.
    pub fn add_special_tokens_map(&mut self, json: &[u8]) -> Result<(), ConfigError> {
        add_tokens(&mut self.special_tokens, &object(json)?);
        Ok(())
    }

    /// Replaces the chat templates by the content of `chat_template.json`.
    ///
    /// # Errors
    /// The file is not a JSON object, or has no `chat_template`.
    pub fn set_chat_template_json(&mut self, json: &[u8]) -> Result<(), ConfigError> {
        let templates = templates(object(json)?.get("chat_template"))?;
        if templates.is_empty() {
            return Err(ConfigError::Field { field: "chat_template", wanted: "text" });
        }
        self.chat_templates = templates;
        Ok(())
    }

    /// Replaces the chat templates by the content of `chat_template.jinja`.
    pub fn set_chat_template(&mut self, source: String) {
        self.chat_templates = vec![Named { name: DEFAULT.into(), source }];
    }

    /// Returns the chat template. `None` if there is none. If there are several, `tool_use` is used for chats with tools, and `default` otherwise.
    pub fn chat_template(&self, has_tools: bool) -> Option<&str> {
        let named = |name: &str| self.chat_templates.iter().find(|it| it.name == name);
        let found = Some(TOOL_USE).filter(|_| has_tools).and_then(named).or_else(|| named(DEFAULT));
        found.map(|it| it.source.as_str())
    }

    /// The names of the chat templates.
    pub fn chat_template_names(&self) -> Vec<&str> {
        self.chat_templates.iter().map(|it| it.name.as_str()).collect()
    }

    /// The text of the BOS token, which begins a text.
    pub fn bos_token(&self) -> Option<&str> {
        self.special_tokens.get("bos_token")?.as_str()
    }

    /// The tokens before and after a text according to the configuration. `None` if the configuration does not override those of `tokenizer.json`.
    pub(crate) fn around(&self) -> Option<(Option<&str>, Option<&str>)> {
        let eos = self.special_tokens.get("eos_token").and_then(Value::as_str);
        CONFIGURED.contains(&self.class.trim_end_matches("Fast")).then(|| {
            (
                self.bos_token().filter(|_| self.adds_bos.unwrap_or(true)),
                eos.filter(|_| self.adds_eos.unwrap_or_default()),
            )
        })
    }

    /// Returns the BOS token if the configuration names it but the tokenizer does not put it before a text. `None` if the tokenizer adds it, or does
    /// not have to.
    ///
    /// Files of Llama 3 that were published without their post-processor have this fault. If a server adds the token, it counts one token more than
    /// this tokenizer. If it does not, the model gives worse answers.
    ///
    /// # Errors
    /// The tokenizer cannot encode text.
    pub fn missing_bos(&self, tokenizer: &Tokenizer) -> Result<Option<&str>, TokenizerError> {
        let Some(bos) = self.bos_token().filter(|_| self.adds_bos != Some(false)) else { return Ok(None) };
        let begins = tokenizer.ids_with_special("")?;
        let has_bos = begins.first().is_some_and(|first| tokenizer.id_of(bos) == Some(*first));
        Ok((!has_bos).then_some(bos))
    }
}

fn object(json: &[u8]) -> Result<Map<String, Value>, ConfigError> {
    match serde_json::from_slice(json) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(ConfigError::Format { reason: "it is another value".into() }),
        Err(error) => Err(ConfigError::Format { reason: error.to_string() }),
    }
}

/// Adds the special tokens of a file. Tokens that are already known are kept.
fn add_tokens(tokens: &mut Map<String, Value>, file: &Map<String, Value>) {
    for name in SPECIAL_TOKENS {
        if let Some(text) = file.get(name).and_then(token).filter(|_| !tokens.contains_key(name)) {
            tokens.insert(name.into(), text.into());
        }
    }
    let list = file.get(ADDITIONAL).and_then(Value::as_array).filter(|it| !it.is_empty());
    if let Some(list) = list.filter(|_| !tokens.contains_key(ADDITIONAL)) {
        let texts: Vec<Value> = list.iter().filter_map(token).map(Value::from).collect();
        tokens.insert(ADDITIONAL.into(), texts.into());
    }
}

/// The text of a special token. A file contains it as a string, or as an object with `content`.
fn token(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("content")?.as_str())
}

/// The chat templates of a file, which are a single text or a list of objects.
fn templates(value: Option<&Value>) -> Result<Vec<Named>, ConfigError> {
    let wrong =
        || ConfigError::Field { field: "chat_template", wanted: "text and no list of objects with name and template" };
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(source)) => Ok(vec![Named { name: DEFAULT.into(), source: source.clone() }]),
        Some(Value::Array(list)) => {
            let text = |it: &Value, key: &str| it.get(key).and_then(Value::as_str).map(str::to_owned);
            let named = |it: &Value| Some(Named { name: text(it, "name")?, source: text(it, "template")? });
            list.iter().map(named).collect::<Option<_>>().ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BYTE_LEVEL: &[u8] = include_bytes!("../tests/fixtures/byte-level.json");
    const METASPACE: &[u8] = include_bytes!("../tests/fixtures/metaspace.json");

    fn config(json: Value) -> TokenizerConfig {
        TokenizerConfig::parse(json.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn tokens_are_texts_or_objects_and_the_configuration_wins() {
        let mut config = config(json!({
            "bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "pad_token": null, "model_max_length": 5,
        }));
        let map = json!({"bos_token": "other", "pad_token": "<pad>", "additional_special_tokens": ["<a>", {"content": "<b>"}]});
        config.add_special_tokens_map(map.to_string().as_bytes()).unwrap();
        let expected = json!({
            "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "additional_special_tokens": ["<a>", "<b>"],
        });
        assert_eq!(Value::Object(config.special_tokens), expected);
    }

    #[test]
    fn of_several_templates_the_one_for_the_chat_is_taken() {
        let list = json!([{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]);
        let named = config(json!({"chat_template": list}));
        assert_eq!((named.chat_template(false), named.chat_template(true)), (Some("d"), Some("t")));
        assert_eq!(named.chat_template_names(), ["default", "tool_use"]);
        let mut one = config(json!({"chat_template": "x"}));
        assert_eq!((one.chat_template(false), one.chat_template(true)), (Some("x"), Some("x")));
        one.set_chat_template_json(br#"{"chat_template": "y"}"#).unwrap();
        assert_eq!(one.chat_template(true), Some("y"));
        one.set_chat_template("z".into());
        assert_eq!(one.chat_template(false), Some("z"));
        assert_eq!(config(json!({})).chat_template(false), None);
        assert_eq!(config(json!({"chat_template": [{"name": "rag", "template": "r"}]})).chat_template(true), None);
    }

    #[test]
    fn an_absent_flag_means_no() {
        assert!(!config(json!({})).cleans_up && config(json!({"clean_up_tokenization_spaces": true})).cleans_up);
    }

    #[test]
    fn a_bos_token_that_is_not_put_before_a_text_is_found() {
        let with = Tokenizer::parse(METASPACE).unwrap();
        let mut json: Value = serde_json::from_slice(METASPACE).unwrap();
        json["post_processor"] = Value::Null;
        let without = Tokenizer::parse(json.to_string().as_bytes()).unwrap();
        let check = |tokenizer: &Tokenizer, json: Value, expected: Option<&str>| {
            assert_eq!(config(json.clone()).missing_bos(tokenizer).unwrap(), expected, "{json}");
        };
        check(&without, json!({"bos_token": "<s>"}), Some("<s>"));
        check(&without, json!({"bos_token": "<s>", "add_bos_token": false}), None);
        check(&without, json!({}), None);
        check(&with, json!({"bos_token": "<s>"}), None);
        check(&with, json!({"bos_token": "other"}), Some("other"));
        assert_eq!(with.ids_with_special("").unwrap(), [1]);
        let byte_level = Tokenizer::parse(BYTE_LEVEL).unwrap();
        check(&byte_level, json!({"bos_token": {"content": "<|begin_of_text|>"}}), None);
    }

    #[test]
    fn the_class_of_llama_lets_the_configuration_decide_what_stands_around_a_text() {
        let mut json: Value = serde_json::from_slice(METASPACE).unwrap();
        json["post_processor"] = Value::Null;
        let check = |config_json: Value, expected: (bool, bool)| {
            let mut all = json!({"bos_token": "<s>", "eos_token": "</s>"});
            all.as_object_mut().unwrap().extend(config_json.as_object().unwrap().clone());
            let plain = Tokenizer::parse(json.to_string().as_bytes()).unwrap();
            let tokenizer = plain.with_config(&config(all)).unwrap();
            let ids = tokenizer.ids_with_special("The sea").unwrap();
            assert_eq!((ids.first() == Some(&1), ids.last() == Some(&2)), expected, "{config_json}");
            assert_eq!(
                tokenizer.ids("The sea").unwrap().len(),
                ids.len() - usize::from(expected.0) - usize::from(expected.1)
            );
        };
        check(json!({"tokenizer_class": "LlamaTokenizerFast"}), (true, false));
        check(
            json!({"tokenizer_class": "LlamaTokenizer", "add_bos_token": false, "add_eos_token": true}),
            (false, true),
        );
        check(json!({"tokenizer_class": "GemmaTokenizer", "add_eos_token": true}), (true, true));
        check(json!({"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": true}), (false, false));
        let wrong = config(json!({"tokenizer_class": "LlamaTokenizer", "bos_token": "no such token"}));
        let error = Tokenizer::parse(METASPACE).unwrap().with_config(&wrong).unwrap_err().to_string();
        assert!(error.contains("no such token"), "{error}");
    }

    #[test]
    fn a_file_of_another_form_is_refused_with_the_remedy() {
        for json in ["", "[]", "{", "5", r#"{"chat_template": 5}"#, r#"{"chat_template": [{"name": "x"}]}"#] {
            let error = TokenizerConfig::parse(json.as_bytes()).unwrap_err().to_string();
            assert!(error.ends_with("give the file that the model is published with"), "{json}: {error}");
        }
        assert!(TokenizerConfig::default().set_chat_template_json(b"{}").is_err());
    }
}
