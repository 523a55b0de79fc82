//! Code that several formats share: bounds for all profiles, and keys with the same meaning in several formats.

pub(super) mod accuracy;
pub(super) mod bounds;
pub(super) mod command_line;
pub(super) mod fields;
pub(super) mod files;
pub(super) mod flags;
pub(super) mod headers;
pub(super) mod prompts;
pub(super) mod request_fields;
pub(crate) mod script;
pub(super) mod shell;
pub(super) mod stage_length;
pub(super) mod stage_names;
pub(super) mod target;
pub(super) mod times;
pub(super) mod tokenizer;
