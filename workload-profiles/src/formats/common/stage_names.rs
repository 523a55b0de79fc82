//! Default names of stages.

use std::collections::BTreeMap;

use crate::workload::{Load, Phase, Rate, RateShape};

/// Generates a unique name for each stage.
#[derive(Default)]
pub(in crate::formats) struct StageNames(BTreeMap<String, u32>);

impl StageNames {
    /// Returns `r10` for 10 requests per second, `c8` for concurrency 8, and `sweep` for a measured rate. The second stage with the same name gets
    /// the suffix `-2`.
    pub fn name(&mut self, load: &Load) -> String {
        let name = match load {
            Load::Open { rate: Rate::Steady(rate), .. } => format!("r{rate}"),
            Load::Open { rate: Rate::Varying(RateShape::Measured(_)), .. } => "sweep".to_owned(),
            Load::Open { rate: Rate::Varying(_), .. } => "varying".to_owned(),
            Load::Burst { count, .. } => format!("burst{count}"),
            Load::Trace { .. } => "trace".to_owned(),
            Load::Closed { concurrency, .. } => format!("c{concurrency}"),
            Load::Users { users, .. } => format!("users{users}"),
            Load::LoadGen { phase: Phase::Accuracy { .. }, .. } => "accuracy".to_owned(),
            Load::LoadGen { phase: Phase::Performance, .. } => "performance".to_owned(),
        };
        let times = self.0.entry(name.clone()).or_default();
        *times += 1;
        if *times == 1 { name } else { format!("{name}-{times}") }
    }
}
