//! What requests are made of, for the engine and for those that read files for it: the [`rows`] of a data set, the prompts of a
//! [`source`], and what belongs to a model: its tokenizer ([`tokenizer_file`]) with what stands beside it ([`model_folder`]), and the
//! length of a text in its tokens ([`token_count`]).

pub mod model_folder;
pub mod rows;
pub mod source;
pub mod token_count;
pub mod tokenizer_file;

pub use rows::{Rows, Turn};
