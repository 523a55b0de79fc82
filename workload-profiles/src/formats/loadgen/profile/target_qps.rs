//! `target_qps` is the target rate, or how to find it.

use crate::{
    loadgen::{Scenario, Settings},
    reader::Section,
    workload::AutoQps,
};

/// The highest rate, in queries per second.
pub(super) const MAX_RATE: f64 = 1e6;
/// Default share of the Offline rate, the same as in MLPerf's own runner for Llama 3.1 8B.
const SHARE: f64 = 0.8;
/// Maximum share of the Offline rate.
const MAX_SHARE: f64 = 10.0;

/// Reads the key. A number sets the target rate. Otherwise, the method to find the rate is returned.
pub(super) fn read(root: &Section, scenario: Scenario, settings: &mut Settings) -> Option<AutoQps> {
    let value = root.value("target_qps")?;
    if root.value("settings").is_some_and(|it| !it["target_qps"].is_null()) {
        root.problem("target_qps", "is set, and so is settings.target_qps; keep one of them");
    }
    let to = match scenario {
        Scenario::Server => &mut settings.server_target_qps,
        Scenario::Offline => &mut settings.offline_expected_qps,
        Scenario::SingleStream | Scenario::MultiStream => {
            let what = format!("is not a setting of {}, which has no rate", scenario.name());
            root.problem("target_qps", format!("{what}; write the expected milliseconds as settings.target_latency"));
            return None;
        }
    };
    let is_number = value.is_number() || value.as_str().is_some_and(|it| it.trim().parse::<f64>().is_ok());
    if is_number {
        *to = root.positive_number("target_qps", MAX_RATE).unwrap_or(*to);
        return None;
    }
    match root.variant("target_qps", &["auto", "lastOffline", "search"])? {
        ("auto", None) if scenario == Scenario::Offline => Some(AutoQps::Search),
        ("search", None) => Some(AutoQps::Search),
        ("auto" | "lastOffline", None) => Some(AutoQps::LastOffline { share: SHARE }),
        ("lastOffline", Some(holder)) => {
            let section = holder.section("lastOffline")?;
            let share = section.or_default("share", SHARE, |it, key| it.positive_number(key, MAX_SHARE));
            section.finish();
            share.map(|share| AutoQps::LastOffline { share })
        }
        (word, _) => {
            root.problem("target_qps", format!("takes no settings for {word}; write target_qps: {word}"));
            None
        }
    }
}
