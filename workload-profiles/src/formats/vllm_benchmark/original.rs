//! The program that the flags belong to.

use super::flags;
use crate::formats::common::flags as common_flags;

/// The tool that defines the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Original {
    VllmBenchServe,
    InferenceMax,
}

impl Original {
    pub(super) fn name(self) -> &'static str {
        self.tool().name
    }

    pub(super) fn tool(self) -> common_flags::Tool {
        match self {
            Original::VllmBenchServe => flags::VLLM,
            Original::InferenceMax => flags::INFERENCEMAX,
        }
    }
}
