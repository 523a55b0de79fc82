//! Computes the figures of a run from what the recorder counted, and decides whether they are valid.
//!
//! Values in, values out: no clock, file or socket. `docs/metrics.md` has every formula.

mod accuracy;
mod analyse;
mod backlog;
mod by_figure;
mod class;
mod contamination;
mod cost;
pub mod distribution;
mod distribution_function;
mod evidence;
pub mod figures;
mod identity;
mod interactivity;
mod itl_heat;
pub mod judgement;
pub mod labels;
pub mod loadgen;
mod measured;
pub mod objectives;
mod profiling;
mod rates;
mod remarks;
pub mod repeats;
mod run;
pub mod search;
pub mod servers;
pub mod sessions;
pub mod stage;
mod stalls;
mod summary;
#[cfg(test)]
mod tests;
pub mod time_series;
mod timings;
pub mod uncertainty;
pub mod validity;

pub use accuracy::{Accuracy, AccuracyFigure, AccuracyLimit, NotComputed};
pub use analyse::analyse;
pub use class::ClassAnalysis;
pub use contamination::{Contamination, Exposure, WarmUp, WarmUpPrompts};
pub use cost::CostFigures;
pub use distribution::Distribution;
pub use distribution_function::{DistributionFunction, DistributionFunctions};
pub use evidence::Evidence;
pub use figures::{
    CachedPrompts, Figures, GoodputFigures, LatencyOrigin, SEVERAL_TOKENS, StepTimes, Throughput, TokenCount,
};
pub use identity::TargetIdentity;
pub use interactivity::Interactivity;
pub use itl_heat::ItlHeat;
pub use judgement::{Busiest, SelfJudgement, StallFigures};
pub use labels::Labels;
pub use measured::Measured;
pub use objectives::{ObjectiveResult, Objectives};
pub use profiling::{ProfiledWindow, Profiling, TraceFile};
pub use rates::RateWindow;
pub use remarks::BUSY_SHARE;
pub use run::Analysis;
pub use sessions::{SessionFigures, TurnFigures};
pub use stage::{EndedBy, StageAnalysis};
pub use stalls::StallEffect;
pub use time_series::{BinFigures, BinTimes, SeriesFigures};
pub use uncertainty::Uncertainty;
pub use validity::{Reason, Verdict};
