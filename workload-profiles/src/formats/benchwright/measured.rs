//! The rates of a sweep, which are computed from the rates that earlier stages measured.

use crds::units::RequestRate;

use crate::{
    formats::common::bounds::MAX_STAGES,
    reader::Section,
    workload::{MeasuredRate, RateBound, Spacing},
};

/// Reads the settings of `measured`. `earlier` is the number of stages before this one.
pub(super) fn read(section: &Section, earlier: usize) -> Option<MeasuredRate> {
    for key in ["from", "to"] {
        section.require(key, "write {rate: 1}, {throughput: 0} or {drain: {stage: 0, percentile: 95}}");
    }
    section.require("position", "write the position of the rate between `from` (0) and `to` (1), such as 0.5");
    let (from, to) = (bound(section, "from", earlier), bound(section, "to", earlier));
    let position = section.number("position", 0.0..=1.0);
    let spacings = [("linear", Spacing::Linear), ("towardsEnd", Spacing::TowardsEnd)];
    let spacing = section.or_default("spacing", Spacing::Linear, |it, key| it.choice(key, &spacings));
    Some(MeasuredRate { from: from?, to: to?, position: position?, spacing: spacing? })
}

fn bound(section: &Section, key: &'static str, earlier: usize) -> Option<RateBound> {
    let (name, holder) = section.variant_with_value(key, &["rate", "throughput", "drain"])?;
    match name {
        "rate" => {
            let rate = holder.positive_number("rate", RequestRate::MAX);
            rate.and_then(|it| RequestRate::try_from(it).ok()).map(RateBound::Rate)
        }
        "throughput" => earlier_stage(&holder, "throughput", earlier).map(RateBound::Throughput),
        _ => {
            let drain = holder.section("drain")?;
            drain.require("stage", "write the number of the stage that is measured, from 0");
            let stage = earlier_stage(&drain, "stage", earlier);
            let percentile = drain.or_default("percentile", 95.0, |it, key| it.number(key, 0.0..=100.0));
            drain.finish();
            Some(RateBound::Drain { stage: stage?, percentile: percentile? })
        }
    }
}

/// Reads the index of an earlier stage.
fn earlier_stage(section: &Section, key: &'static str, earlier: usize) -> Option<u32> {
    let stage = section.count_u32(key, 0..=MAX_STAGES as u64)?;
    if (stage as usize) < earlier {
        return Some(stage);
    }
    let remedy = match earlier {
        0 => "this stage is the first one; write a stage before it".to_owned(),
        1 => "write 0, the only stage before this one".to_owned(),
        _ => format!("write a stage before this one, 0 to {}", earlier - 1),
    };
    section.problem(key, format!("is {stage}, and stages count from 0; {remedy}"));
    None
}
