//! Compares the tokenizers of published models with transformers: token ids, decoded texts, and chats.
//!
//! `make real-tokenizers` downloads these tokenizers to `target/real-tokenizers`, together with the output of transformers. `REAL_TOKENIZERS` selects
//! another folder. Without these files, the test only reports that it did not run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use accuracy::clean_up;
use chat_template::{Chat, ChatTemplate, ChatTemplateError};
use jiff::civil::date;
use prompts::model_folder::{self, ModelFolder};
use serde_json::Value;

/// The name of each model. The second text is the BOS token, if the configuration names one that the tokenizer does not put before a text.
const MODELS: [(&str, Option<&str>); 5] = [
    ("qwen3", None),
    ("gptoss", Some("<|startoftext|>")),
    ("deepseek_v3", None),
    ("llama3_1", None),
    ("llama3", Some("<|begin_of_text|>")),
];

/// Prints to stderr directly, because the test harness hides the output of passing tests.
fn say(text: &str) {
    writeln!(io::stderr().lock(), "{text}").unwrap();
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|it| it.as_u64().unwrap() as u32).collect()
}

fn assert_decoded(model: &ModelFolder, case: &Value) {
    let ids = ids(&case["ids"]);
    let cleaned = |text: String| if model.cleans_up() { clean_up(&text) } else { text };
    assert_eq!(cleaned(model.tokenizer.decode_all(&ids).unwrap()), case["decoded"].as_str().unwrap(), "{ids:?}");
    assert_eq!(
        cleaned(model.tokenizer.decode(&ids).unwrap()),
        case["decoded_skip_special"].as_str().unwrap(),
        "{ids:?}"
    );
}

/// Checks a chat. Returns whether it could be rendered.
fn assert_chat(model: &ModelFolder, template: &ChatTemplate, case: &Value) -> bool {
    let config = model.config.as_ref().unwrap();
    let mut variables = config.special_tokens.clone();
    variables.extend(case["variables"].as_object().unwrap().clone());
    let chat = Chat {
        messages: &case["messages"],
        tools: Some(&case["tools"]).filter(|it| !it.is_null()),
        documents: None,
        add_generation_prompt: case["add_generation_prompt"].as_bool().unwrap(),
        variables: &variables,
        now: Some(date(2026, 2, 3).at(4, 5, 6, 0)),
    };
    let rendered = template.render(&chat);
    match case["rendered"].as_str() {
        Some(expected) => assert_eq!(rendered.as_deref(), Ok(expected), "{case}"),
        // Errors that are not raised by the template itself have a different text in Python.
        None => match (rendered, case["error"].as_str().unwrap()) {
            (Err(ChatTemplateError::Raised(message)), error) => assert_eq!(error, format!("TemplateError: {message}")),
            (found, error) => assert!(found.is_err(), "{found:?}, but Python says {error}: {case}"),
        },
    }
    case["rendered"].is_string()
}

fn assert_model(folder: &Path, name: &str, missing_bos: Option<&str>) {
    let model = model_folder::read(&folder.join("models").join(name)).unwrap();
    let reference: Value = serde_json::from_slice(&fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
    let warned =
        missing_bos.map(|it| format!("names the BOS token {it}, which its tokenizer.json does not put before"));
    assert_eq!(model.warnings.len(), usize::from(warned.is_some()), "{:?}", model.warnings);
    assert!(warned.is_none_or(|it| model.warnings[0].contains(&it)), "{:?}", model.warnings);
    let [texts, decodings, chats] =
        ["encode", "decode_random_ids", "chats"].map(|it| reference[it].as_array().unwrap());
    assert!(!texts.is_empty() && !decodings.is_empty());
    for case in texts {
        let text = case["text"].as_str().unwrap();
        assert_eq!(model.tokenizer.ids_with_special(text).unwrap(), ids(&case["ids"]), "{name} {text:?}");
        assert_eq!(model.tokenizer.ids(text).unwrap(), ids(&case["ids_no_special"]), "{name} {text:?}");
        assert_decoded(&model, case);
    }
    decodings.iter().for_each(|it| assert_decoded(&model, it));
    let mut rendered = 0;
    if !chats.is_empty() {
        let template = model.chat_template(false).unwrap();
        rendered = chats.iter().filter(|it| assert_chat(&model, &template, it)).count();
        assert!(rendered > 0);
    }
    say(&format!(
        "{name}: {} texts, {} lists of ids, {rendered} chats, and {} chats that neither can render",
        texts.len(),
        decodings.len(),
        chats.len() - rendered
    ));
}

#[test]
fn tokenizers_of_published_models_do_what_transformers_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = env::var_os("REAL_TOKENIZERS").map_or_else(|| root.join("target/real-tokenizers"), PathBuf::from);
    // A relative path is meant from the root of the project, but a test runs in the folder of its crate.
    let folder = if folder.exists() { folder } else { root.join(folder) };
    if !folder.join("llama3.json").exists() {
        say("NOT COMPARED: tokenizers of published models; `make real-tokenizers` fetches and compares them");
        return;
    }
    for (name, missing_bos) in MODELS {
        assert_model(&folder, name, missing_bos);
    }
}
