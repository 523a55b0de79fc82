//! Proptest strategies for classes, sessions and stop rules.

use proptest::{option, prelude::*, sample::select};

use super::{some_extra, some_headers, some_span};
use crate::workload::*;

pub(super) fn some_classes() -> BoxedStrategy<TrafficClasses> {
    let class = (0.01_f64..99.0, option::of("[a-z]{1,9}"), some_headers(), option::of(1_u32..99), some_extra());
    let assignment = select(vec![Assignment::Random, Assignment::RoundRobin]);
    (assignment, prop::collection::vec(class, 0..4))
        .prop_map(|(assignment, classes)| {
            if classes.is_empty() {
                return TrafficClasses::default();
            }
            let classes = classes.into_iter().enumerate().map(|(index, (weight, model, headers, output, extra))| {
                TrafficClass { name: format!("class {index}"), weight, model, headers, output, extra }
            });
            TrafficClasses { assignment, classes: classes.collect() }
        })
        .boxed()
}

pub(super) fn some_sessions() -> BoxedStrategy<Sessions> {
    (any::<(bool, bool, bool)>(), option::of("x-[a-z]{1,9}"))
        .prop_map(|(flags, header)| Sessions {
            unit: if flags.0 { Unit::Session } else { Unit::Request },
            header,
            keep_connection: flags.1,
            after_failure: if flags.2 { AfterFailure::End } else { AfterFailure::Continue },
        })
        .boxed()
}

/// Stop rules that do not require streaming.
pub(super) fn some_stop_rules() -> BoxedStrategy<Vec<StopRule>> {
    let hit = prop_oneof![
        Just(Hit::Failed),
        Just(Hit::TimedOut),
        (100_u16..600).prop_map(Hit::Status),
        some_span().prop_map(Hit::LatencyAbove),
    ];
    let share = || 0.001_f64..1.0;
    let limit = prop_oneof![
        (1_u64..999).prop_map(HitLimit::Count),
        (1_u64..999).prop_map(HitLimit::InARow),
        (share(), 1_u32..999).prop_map(|(share, of)| HitLimit::ShareOfLast { share, of }),
        (share(), some_span(), 1_u32..999).prop_map(|(share, within, least)| HitLimit::ShareWithin {
            share,
            within,
            least
        }),
        (share(), 1_u32..999).prop_map(|(share, least)| HitLimit::ShareOfAll { share, least }),
    ];
    let scope = select(vec![StopScope::Stage, StopScope::Load]);
    let rule =
        ("[ -#%-z]{0,9}", hit, limit, scope).prop_map(|(name, hit, limit, scope)| StopRule { name, hit, limit, scope });
    prop::collection::vec(rule, 0..3).boxed()
}
