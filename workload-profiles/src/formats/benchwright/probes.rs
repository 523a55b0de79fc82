//! Probes: tiny requests that are sent in addition to the load.

use crds::units::RequestRate;

use crate::{reader::Section, workload::Probes};

/// Maximum probes per second. More probes would be a load of their own.
const MAX_RATE: f64 = 100.0;
/// Maximum tokens of a probe's prompt, and of its answer.
const MAX_TOKENS: u64 = 1_024;

/// Reads the section `probes`; Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section) -> Option<Probes> {
    section.require("rate", "write how many probes are sent per second, such as 1");
    let rate = section.positive_number("rate", MAX_RATE).and_then(|it| RequestRate::try_from(it).ok());
    let length = |key, default| section.or_default(key, default, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    let (input, output) = (length("input", 8), length("output", 1));
    section.finish();
    Some(Probes { rate: rate?, input: input?, output: output? })
}
