//! MMLU: prompts, letters of answers, and figures. Pure.
//!
//! Sources: `evaluate.py` and `categories.py` of the authors' repository (hendrycks/test), and the task `mmlu` of lm-evaluation-harness. This module
//! neither reads the data nor sends the prompts.

mod figures;
mod letter;
mod prompt;
mod subjects;

pub use figures::{Answer, Counts, Figures, Method, Settings, csv, shares};
pub use letter::{LETTERS, from_log_probabilities, from_text, original_from_log_probabilities};
pub use prompt::{Format, Question, example, prompt};
pub use subjects::{Categories, Domain, SUBJECTS, domain};
