//! The commands of `benchwright`. Each file contains the arguments of one command and the code that runs it.

pub(crate) mod accuracy;
pub(crate) mod analyse;
pub(crate) mod archive;
#[cfg(target_os = "linux")]
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod dataset;
pub(crate) mod index;
pub(crate) mod init;
mod input_args;
pub(crate) mod mlperf;
pub(crate) mod mmlu;
pub(crate) mod offline_engine;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod plot;
mod preset;
pub(crate) mod profiles;
pub(crate) mod prune;
pub(crate) mod render;
pub(crate) mod run;
mod runner_args;
pub(crate) mod search;
#[cfg(target_os = "linux")]
pub(crate) mod server;
#[cfg(target_os = "linux")]
pub(crate) mod server_wrapper;
pub(crate) mod show;
pub(crate) mod sim;
pub(crate) mod startup;
pub(crate) mod submission;
pub(crate) mod sut;
pub(crate) mod sweep;
pub(crate) mod validate;
