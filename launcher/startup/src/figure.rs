//! The numbers that an engine prints about its start.

use serde::{Deserialize, Serialize};

/// A number that an engine prints. Its first line counts: with several workers, that of the first one to print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Figure {
    DistributedInitSeconds,
    ModelInitSeconds,
    WeightsLoadSeconds,
    ModelLoadSeconds,
    /// The memory that the model takes. Older engines print GB and mean 2^30 bytes.
    ModelSizeGib,
    DynamoSeconds,
    LoadCompiledGraphSeconds,
    CompileGraphSeconds,
    TorchCompileSeconds,
    WarmUpSeconds,
    InitialFreeGib,
    FreeAfterProfilingGib,
    MemoryProfilingSeconds,
    KvCacheGib,
    KvCacheTokens,
    GraphCaptureSeconds,
    GraphCaptureGib,
    EngineInitSeconds,
    /// The part of `EngineInitSeconds` that compiled.
    CompilationSeconds,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Gib,
    Tokens,
}

impl Unit {
    /// As it stands behind a number.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Gib => "GiB",
            Unit::Tokens => "tokens",
        }
    }
}

impl Figure {
    /// All of them, in the order of a start.
    pub const ALL: [Figure; 19] = [
        Figure::DistributedInitSeconds,
        Figure::ModelInitSeconds,
        Figure::WeightsLoadSeconds,
        Figure::ModelLoadSeconds,
        Figure::ModelSizeGib,
        Figure::DynamoSeconds,
        Figure::LoadCompiledGraphSeconds,
        Figure::CompileGraphSeconds,
        Figure::TorchCompileSeconds,
        Figure::WarmUpSeconds,
        Figure::InitialFreeGib,
        Figure::FreeAfterProfilingGib,
        Figure::MemoryProfilingSeconds,
        Figure::KvCacheGib,
        Figure::KvCacheTokens,
        Figure::GraphCaptureSeconds,
        Figure::GraphCaptureGib,
        Figure::EngineInitSeconds,
        Figure::CompilationSeconds,
    ];

    /// The name that people read.
    pub fn name(self) -> &'static str {
        match self {
            Figure::DistributedInitSeconds => "distributed init",
            Figure::ModelInitSeconds => "model init",
            Figure::WeightsLoadSeconds => "weights load",
            Figure::ModelLoadSeconds => "model load",
            Figure::ModelSizeGib => "model size",
            Figure::DynamoSeconds => "Dynamo transform",
            Figure::LoadCompiledGraphSeconds => "load of compiled graphs",
            Figure::CompileGraphSeconds => "compilation of a graph",
            Figure::TorchCompileSeconds => "torch.compile",
            Figure::WarmUpSeconds => "warm-up run",
            Figure::InitialFreeGib => "free memory before",
            Figure::FreeAfterProfilingGib => "free memory after profiling",
            Figure::MemoryProfilingSeconds => "memory profiling",
            Figure::KvCacheGib => "KV cache",
            Figure::KvCacheTokens => "KV cache in tokens",
            Figure::GraphCaptureSeconds => "graph capture",
            Figure::GraphCaptureGib => "memory of graphs",
            Figure::EngineInitSeconds => "engine init",
            Figure::CompilationSeconds => "compilation in engine init",
        }
    }

    pub fn unit(self) -> Unit {
        match self {
            Figure::ModelSizeGib
            | Figure::InitialFreeGib
            | Figure::FreeAfterProfilingGib
            | Figure::KvCacheGib
            | Figure::GraphCaptureGib => Unit::Gib,
            Figure::KvCacheTokens => Unit::Tokens,
            _ => Unit::Seconds,
        }
    }
}

/// The largest number that an engine may print: 1e9 seconds are 32 years, and 1e9 GiB more memory than any machine has.
const MOST: f64 = 1e9;

/// The first number of a text, behind `after` where that is not empty. Commas between groups of three digits belong to it. A number with a
/// minus, or one above [`MOST`], is none.
pub(crate) fn number(text: &str, after: &str) -> Option<f64> {
    let text = &text[text.find(after)? + after.len()..];
    let from = text.find(|it: char| it.is_ascii_digit())?;
    if text[..from].ends_with('-') {
        return None;
    }
    let bytes = &text.as_bytes()[from..];
    let mut digits = String::new();
    let mut at = 0;
    let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    while at < bytes.len() {
        match bytes[at] {
            it @ b'0'..=b'9' => digits.push(char::from(it)),
            b'.' if is_digit(at + 1) && !digits.contains('.') => digits.push('.'),
            b',' if (1..=3).all(|it| is_digit(at + it)) && !is_digit(at + 4) && !digits.contains('.') => {}
            _ => break,
        }
        at += 1;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let exponent = bytes[at + 1 + sign..].iter().take_while(|it| it.is_ascii_digit()).count();
        if (1..=3).contains(&exponent) {
            digits.push('e');
            digits.extend(bytes[at + 1..at + 1 + sign + exponent].iter().map(|it| char::from(*it)));
        }
    }
    digits.parse().ok().filter(|it: &f64| *it <= MOST)
}
