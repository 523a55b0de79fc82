//! Compares chat templates and tokenized texts with those of transformers.

use chat_template::{Chat, ChatTemplate, ChatTemplateError};
use serde_json::{Map, Value};

use crate::accuracy_vectors::{json_of, list, runs::Decoder, runs::ids_of, say, string};

#[test]
fn chats_are_rendered_as_by_transformers() {
    let Some(file) = json_of("chat_templates.json") else { return };
    let cases = list(&file["cases"], "cases");
    let token = |name: &str| (name.to_owned(), file[name].clone());
    let variables: Map<String, Value> = [token("bos_token"), token("eos_token")].into_iter().collect();
    let mut refused = 0;
    for case in cases {
        let name = string(&case["template"]);
        let template = ChatTemplate::parse(string(&file["templates"][name])).unwrap();
        let chat = Chat {
            messages: &case["messages"],
            tools: Some(&case["tools"]).filter(|it| !it.is_null()),
            documents: None,
            add_generation_prompt: case["add_generation_prompt"].as_bool().unwrap(),
            variables: &variables,
            now: None,
        };
        let expected = match case["error"].as_str() {
            None => Ok(string(&case["rendered"]).to_owned()),
            Some(error) => {
                refused += 1;
                Err(ChatTemplateError::Raised(error.to_owned()))
            }
        };
        assert_eq!(template.render(&chat), expected, "{case}");
    }
    say(&format!("chat_templates.json: {} chats, of which the template refuses {refused}", cases.len()));
}

#[test]
fn tokens_of_texts_are_those_of_the_python_tokenizers() {
    let Some(file) = json_of("tokenization.json") else { return };
    for (name, cases) in file.as_object().unwrap() {
        let Some(Decoder { tokenizer, .. }) = Decoder::read(name) else { continue };
        let cases = list(&cases["encode"], "encode");
        for case in cases {
            let text = string(&case["text"]);
            assert_eq!(tokenizer.ids_with_special(text).unwrap(), ids_of(&case["ids"]), "{name} {text:?}");
            assert_eq!(tokenizer.ids(text).unwrap(), ids_of(&case["ids_no_special"]), "{name} {text:?}");
        }
        say(&format!("tokenization.json, {name}: tokens of {} texts", cases.len()));
    }
}
