//! [I/O] Reads the folder of a model's tokenizer: `tokenizer.json` and the configuration files next to it.

use files::{
    file_digest::{DigestReader, FileDigest},
    user_file,
};
use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use chat_template::{ChatTemplate, ChatTemplateError};
use tokenizer::{ConfigError, Tokenizer, TokenizerConfig, TokenizerError};

use crate::tokenizer_file::{self, TokenizerFileError};

const CONFIG: &str = "tokenizer_config.json";
const SPECIAL_TOKENS: &str = "special_tokens_map.json";
const TEMPLATE: &str = "chat_template.jinja";
const TEMPLATE_JSON: &str = "chat_template.json";
/// Maximum bytes of each configuration file: many times the size of the largest one known.
const MAX_BYTES: u64 = 16 << 20;

/// The reason why the folder cannot be used. The message already contains the cause, so there is no `source`.
#[derive(Debug, thiserror::Error)]
pub enum ModelFolderError {
    /// The tokenizer cannot be used.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerFileError),
    /// A configuration file cannot be read.
    #[error("cannot read {path}: {cause}; give the file that the model is published with", path = path.display())]
    Read { path: PathBuf, cause: io::Error },
    /// A configuration file has an unexpected form.
    #[error("{path} {cause}", path = path.display())]
    Wrong { path: PathBuf, cause: ConfigError },
    /// The tokenizer cannot encode text, or it does not fit its configuration.
    #[error("the tokenizer {path} {cause}", path = path.display())]
    Encode { path: PathBuf, cause: TokenizerError },
    /// There is no chat template.
    #[error(
        "{path} has no chat template: neither {TEMPLATE} nor {TEMPLATE_JSON}, nor a chat_template in {CONFIG}{others}; give the folder of a model that is made for chats",
        path = path.display()
    )]
    NoTemplate { path: PathBuf, others: String },
    /// The chat template is not valid.
    #[error("{path}: {cause}", path = path.display())]
    Template { path: PathBuf, cause: ChatTemplateError },
}

impl ModelFolderError {
    /// The message without any content of the files. `None` if the original message contains no such content.
    pub fn without_words(&self) -> Option<String> {
        let unusable =
            |path: &Path| Some(format!("{} cannot be used as a file of a model's tokenizer", path.display()));
        match self {
            ModelFolderError::Tokenizer(error) => error.without_words(),
            ModelFolderError::Wrong { path, cause: _ }
            | ModelFolderError::Encode { path, cause: _ }
            | ModelFolderError::NoTemplate { path, others: _ }
            | ModelFolderError::Template { path, cause: _ } => unusable(path),
            ModelFolderError::Read { .. } => None,
        }
    }
}

/// The tokenizer of a model, with its configuration.
#[derive(Debug)]
pub struct ModelFolder {
    pub tokenizer: Tokenizer,
    /// The digest of `tokenizer.json`.
    pub digest: FileDigest,
    /// The configuration from the files next to `tokenizer.json`. `None` if there is no `tokenizer_config.json`.
    pub config: Option<TokenizerConfig>,
    /// Warnings for the user, one sentence each.
    pub warnings: Vec<String>,
    folder: PathBuf,
    /// The name of the file that contains the chat template, if there is one.
    template_file: &'static str,
}

/// Reads a folder. `path` is the folder, or its `tokenizer.json`. Only `tokenizer.json` is required.
///
/// # Errors
/// A file cannot be read, is larger than 16 MiB (`tokenizer.json`: 128 MiB), or has an unexpected form.
pub fn read(path: &Path) -> Result<ModelFolder, ModelFolderError> {
    let (tokenizer, digest) = tokenizer_file::read(path)?;
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    let mut model = ModelFolder {
        tokenizer,
        digest,
        config: None,
        warnings: Vec::new(),
        folder: folder.to_owned(),
        template_file: CONFIG,
    };
    let wrong = |name: &str| {
        let path = folder.join(name);
        move |cause| ModelFolderError::Wrong { path, cause }
    };
    let Some(config) = optional(folder, CONFIG)? else {
        model.warnings.push(format!(
            "{} has no {CONFIG}, so spaces are not cleaned up after decoding, as Llama 3's are, and its special tokens are not known",
            folder.display()
        ));
        return Ok(model);
    };
    let mut config = TokenizerConfig::parse(&config).map_err(wrong(CONFIG))?;
    if let Some(map) = optional(folder, SPECIAL_TOKENS)? {
        config.add_special_tokens_map(&map).map_err(wrong(SPECIAL_TOKENS))?;
    }
    // As in transformers, a separate template file takes precedence. `chat_template.json` is meant for multimodal processors, and is used only if
    // there is no other template.
    if let Some(source) = optional_text(folder, TEMPLATE)? {
        config.set_chat_template(source);
        model.template_file = TEMPLATE;
    } else if config.chat_template_names().is_empty()
        && let Some(json) = optional(folder, TEMPLATE_JSON)?
    {
        config.set_chat_template_json(&json).map_err(wrong(TEMPLATE_JSON))?;
        model.template_file = TEMPLATE_JSON;
    }
    let encode = |cause| ModelFolderError::Encode { path: folder.to_owned(), cause };
    model.tokenizer = model.tokenizer.with_config(&config).map_err(encode)?;
    let missing = config.missing_bos(&model.tokenizer);
    if let Some(bos) = missing.map_err(encode)? {
        model.warnings.push(format!(
            "{} names the BOS token {bos}, which its tokenizer.json does not put before a text; a server whose files have it counts a token \
             more, and sees the prompts differently; compare with the files that the server loads",
            folder.join(CONFIG).display()
        ));
    }
    model.config = Some(config);
    Ok(model)
}

impl ModelFolder {
    /// Whether spaces before punctuation are removed from decoded text.
    pub fn cleans_up(&self) -> bool {
        self.config.as_ref().is_some_and(|it| it.cleans_up)
    }

    /// Returns the chat template for chats with or without tools.
    ///
    /// # Errors
    /// There is no template, or it is not valid.
    pub fn chat_template(&self, has_tools: bool) -> Result<ChatTemplate, ModelFolderError> {
        let config = self.config.as_ref();
        let source = config.and_then(|it| it.chat_template(has_tools)).ok_or_else(|| {
            let names = config.map(TokenizerConfig::chat_template_names).unwrap_or_default();
            let others = format!(", which has only {}", names.join(", "));
            let others = if names.is_empty() { String::new() } else { others };
            ModelFolderError::NoTemplate { path: self.folder.clone(), others }
        })?;
        let wrong = |cause| ModelFolderError::Template { path: self.folder.join(self.template_file), cause };
        ChatTemplate::parse(source).map_err(wrong)
    }

    /// The digest of the file that contains the chat template.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn template_digest(&self) -> Result<FileDigest, ModelFolderError> {
        let path = self.folder.join(self.template_file);
        let read = user_file::read(&path, MAX_BYTES);
        let digest = read.and_then(|bytes| DigestReader::new(bytes.as_slice()).finish(&path, MAX_BYTES));
        digest.map_err(|cause| ModelFolderError::Read { path, cause })
    }
}

/// Reads a file of the folder. `None` if it does not exist.
fn optional(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, ModelFolderError> {
    found(folder, name, user_file::read)
}

fn optional_text(folder: &Path, name: &str) -> Result<Option<String>, ModelFolderError> {
    found(folder, name, user_file::read_text)
}

fn found<T>(
    folder: &Path,
    name: &str,
    read: impl FnOnce(&Path, u64) -> io::Result<T>,
) -> Result<Option<T>, ModelFolderError> {
    let path = folder.join(name);
    match read(&path, MAX_BYTES) {
        Ok(it) => Ok(Some(it)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(ModelFolderError::Read { path, cause }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chat_template::Chat;
    use serde_json::{Map, json};

    use super::*;

    const JSON: &[u8] = include_bytes!("../../tokenizer/tests/fixtures/metaspace.json");

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tokenizer.json"), JSON).unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        folder
    }

    fn rendered(files: &[(&str, &str)]) -> String {
        let folder = folder(files);
        let model = read(folder.path()).unwrap();
        let chat = Chat {
            messages: &json!([{"role": "user", "content": "x"}]),
            tools: None,
            documents: None,
            add_generation_prompt: false,
            variables: &model.config.as_ref().map_or_else(Map::new, |it| it.special_tokens.clone()),
            now: None,
        };
        model.chat_template(false).unwrap().render(&chat).unwrap()
    }

    fn assert_refused(files: &[(&str, &str)], parts: [&str; 2]) {
        let folder = folder(files);
        let error = read(folder.path()).and_then(|it| it.chat_template(false)).unwrap_err().to_string();
        assert!(parts.iter().all(|it| error.contains(it)), "{error}");
    }

    #[test]
    fn the_template_is_found_where_transformers_looks_for_it() {
        let config = (CONFIG, r#"{"bos_token": "<s>", "chat_template": "{{ bos_token }}config"}"#);
        let json = (TEMPLATE_JSON, r#"{"chat_template": "{{ bos_token }}json"}"#);
        assert_eq!(rendered(&[config]), "<s>config");
        assert_eq!(rendered(&[config, json]), "<s>config");
        assert_eq!(rendered(&[(CONFIG, "{}"), json, (SPECIAL_TOKENS, r#"{"bos_token": "<s>"}"#)]), "<s>json");
        assert_eq!(rendered(&[config, json, (TEMPLATE, "{{ bos_token }}file")]), "<s>file");
    }

    #[test]
    fn what_a_person_should_look_at_is_said() {
        let check = |files: &[(&str, &str)], expected: &[&str]| {
            let folder = folder(files);
            let warnings = read(&folder.path().join("tokenizer.json")).unwrap().warnings;
            assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
            assert!(warnings.iter().zip(expected).all(|(it, part)| it.contains(part)), "{warnings:?}");
        };
        check(&[], &["has no tokenizer_config.json"]);
        check(&[(CONFIG, r#"{"bos_token": "<s>"}"#)], &[]);
        check(&[(CONFIG, r#"{"bos_token": "<|begin|>"}"#)], &["names the BOS token <|begin|>"]);
    }

    #[test]
    fn a_file_that_is_missing_or_wrong_is_named_with_the_remedy() {
        assert_refused(&[], ["has no chat template: neither chat_template.jinja", "made for chats"]);
        let rag = r#"{"chat_template": [{"name": "rag", "template": ""}]}"#;
        assert_refused(&[(CONFIG, rag)], ["which has only rag", "made for chats"]);
        assert_refused(&[(CONFIG, "[]")], ["tokenizer_config.json is no JSON object", "published with"]);
        assert_refused(
            &[(CONFIG, "{}"), (TEMPLATE_JSON, "{}")],
            ["chat_template.json has a chat_template", "published with"],
        );
        assert_refused(&[(CONFIG, "{}"), (TEMPLATE, "a\n{% if %}")], ["not valid in line 2", "published with"]);
    }
}
