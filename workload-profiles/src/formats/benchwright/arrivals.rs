//! Arrival processes of open loads: how the send times are drawn.

use std::ops::RangeInclusive;

use crate::{reader::Section, workload::Arrivals};

/// The arrival processes without settings.
const PLAIN: [(&str, Arrivals); 5] = [
    ("constant", Arrivals::Constant),
    ("constantAfterGap", Arrivals::ConstantAfterGap),
    ("poisson", Arrivals::Poisson),
    ("conditionedPoisson", Arrivals::ConditionedPoisson),
    ("poissonPerSecond", Arrivals::PoissonPerSecond),
];
/// All arrival processes, in the order that messages use.
const NAMES: [&str; 7] =
    ["constant", "constantAfterGap", "poisson", "gamma", "conditionedPoisson", "conditionedGamma", "poissonPerSecond"];
/// Below this range all gaps of a gamma process are zero; above it all gaps are equal.
const BURSTINESS: RangeInclusive<f64> = 1e-3..=1e6;

/// Reads the key `arrivals`; Returns `None` if at least one problem was reported.
pub(super) fn read(section: &Section, key: &'static str) -> Option<Arrivals> {
    let (name, holder) = section.variant(key, &NAMES)?;
    if let Some((_, arrivals)) = PLAIN.iter().find(|(plain, _)| *plain == name) {
        if holder.is_some() {
            section.problem(key, format!("takes no settings for {name}; write {key}: {name}"));
        }
        return Some(*arrivals);
    }
    let gamma = section.with_value(key, name, holder)?.section(name)?;
    gamma
        .require("burstiness", "write the shape of the gaps: 1 for Poisson, below 1 for bursts, above 1 for even gaps");
    let burstiness = gamma.number("burstiness", BURSTINESS);
    gamma.finish();
    let burstiness = burstiness?;
    Some(match name {
        "gamma" => Arrivals::Gamma { burstiness },
        _ => Arrivals::ConditionedGamma { burstiness },
    })
}
