//! The contents of requests, for the engine and for the crates that read its files. The contents are the [`rows`] of a data set, or the prompts of a
//! [`source`]. [`tokenizer_file`] reads the tokenizer of a model, and [`model_folder`] also reads the files next to it. [`token_count`] counts the
//! tokens of a text.

pub mod model_folder;
pub mod rows;
pub mod source;
pub mod token_count;
pub mod tokenizer_file;

pub use rows::{Rows, Turn};
