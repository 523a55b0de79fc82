//! Renders HTML pages of reports of comparisons and of sweeps, including their figures. Pure: a document in, text out.

pub mod comparison;
#[cfg(test)]
mod fixture;
mod frame;
pub mod panels;
pub mod run;
pub mod startup;
pub mod sweep;
mod table;
mod text;
mod verdict;

/// A page could not be rendered.
#[derive(Debug, thiserror::Error)]
#[error("cannot render the page: {0}; this is a defect of benchwright: report it with this message and report.json")]
pub struct PageError(#[from] tera::Error);
