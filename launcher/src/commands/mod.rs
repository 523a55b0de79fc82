//! The commands of `benchwright`, a file each: its arguments, and what it does with them.

#[cfg(target_os = "linux")]
pub(crate) mod bench;
mod input_args;
pub(crate) mod plan;
pub(crate) mod render;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod sim;
pub(crate) mod submission;
pub(crate) mod sut;
