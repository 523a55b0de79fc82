//! Writes the report of a run for people and programs, one file per format. Only [`folder`], [`index`] and the folder of [`repeats`] write files, and
//! [`report_file`] reads them back.

pub mod accuracy;
pub mod baseline;
pub mod benchmark_report;
mod benchmark_run;
pub mod comment;
pub mod earlier_attempt;
pub mod envelope;
mod failures;
pub mod folder;
pub mod index;
pub mod junit;
pub mod loadgen;
pub mod managed_server;
pub mod markdown;
pub mod markup;
pub mod measurement_file;
mod objectives;
pub mod paint;
pub mod partial;
mod policy;
pub mod profiling;
mod provenance;
pub mod prune;
pub mod repeats;
pub mod report_file;
pub mod requests_parquet;
mod results;
pub mod search;
mod server;
pub mod space;
pub mod stages_csv;
pub mod startup;
pub mod terminal;
mod text;
pub mod text_table;
mod uncertainty;

pub use accuracy::AccuracyFile;
pub use benchmark_run::{FILE_NAME as BENCHMARK_RUN_FILE_NAME, Inputs};
pub use folder::{ChosenBy, Folder, StorageError, Stored, claim as claim_folder};
pub use loadgen::{LoadGenConfig, LoadGenSummary};
pub use policy::policy;
pub use provenance::{contamination, exposure};
pub use report_file::REPORT_FILE_NAME;
pub use results::{
    Attachments, PAGE_FILE_NAME, PageOf, copy_inputs, server_log, write_document, write_inputs, write_report,
};
pub use text::{profile, shortened};
