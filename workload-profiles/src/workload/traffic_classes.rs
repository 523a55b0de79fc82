//! Classes of requests, which differ in the model, the header fields or the body.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Extra;

/// Classes of requests. Each request belongs to one class, and all turns of a session belong to the same class. The report contains separate figures
/// for each class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrafficClasses {
    /// How a class is chosen for a request.
    pub assignment: Assignment,
    /// The classes. Empty: all requests are alike.
    pub classes: Vec<TrafficClass>,
}

impl TrafficClasses {
    /// Returns one cycle of [`Assignment::RoundRobin`]: the indexes of the classes, in order. Empty if there are no classes. The cycle has at most
    /// 100,000 entries. If the weights need a longer cycle, only this first part is repeated.
    pub fn turns(&self) -> Vec<u16> {
        let whole: f64 = self.classes.iter().map(|it| it.weight).sum();
        let mut credits = vec![0.0_f64; self.classes.len()];
        let mut turns = Vec::new();
        while turns.len() < MAX_TURNS {
            for (credit, class) in credits.iter_mut().zip(&self.classes) {
                *credit += class.weight;
            }
            // Select the first class among those with the highest credit.
            let next = (0..credits.len()).reduce(|best, it| if credits[it] > credits[best] { it } else { best });
            let Some((next, index)) = next.and_then(|it| Some((it, u16::try_from(it).ok()?))) else { break };
            credits[next] -= whole;
            turns.push(index);
            // Allow for rounding errors, which weights such as 0.2 cause.
            if credits.iter().all(|it| it.abs() < whole * 1e-9) {
                break;
            }
        }
        turns
    }

    /// Whether all requests are alike.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }
}

/// Maximum length of a cycle.
const MAX_TURNS: usize = 100_000;

/// A class of requests.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrafficClass {
    /// The name, which is unique in the workload, such as the name of a LoRA adapter.
    pub name: String,
    /// The share of requests in this class: this weight divided by the sum of all weights. Above 0.
    pub weight: f64,
    /// The model that the class's requests name, such as a LoRA adapter. If absent, requests name the workload's model.
    pub model: Option<String>,
    /// Header fields that are added to the workload's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Maximum tokens per answer. If absent, the request source sets the maximum.
    pub output: Option<u32>,
    /// Body fields that are added to the workload's.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// How a class is chosen for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Assignment {
    /// Drawn at random for each request, by the weights.
    #[default]
    Random,
    /// Classes take turns in proportion to their weights: with weights 1, 3 and 1, they get 1, 3 and 1 of every 5 requests.
    RoundRobin,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(weights: &[f64], expected: &[u16]) {
        let class = |weight: &f64| TrafficClass {
            name: String::new(),
            weight: *weight,
            model: None,
            headers: BTreeMap::new(),
            output: None,
            extra: Extra::default(),
        };
        let classes =
            TrafficClasses { assignment: Assignment::RoundRobin, classes: weights.iter().map(class).collect() };
        assert_eq!(classes.turns(), expected, "{weights:?}");
    }

    #[test]
    fn each_class_has_turns_by_its_weight_spread_over_the_cycle() {
        check(&[0.2, 0.6, 0.2], &[1, 0, 1, 2, 1]);
        check(&[5.0, 1.0, 1.0], &[0, 0, 1, 0, 2, 0, 0]);
        check(&[1.0, 2.0, 1.0], &[1, 0, 2, 1]);
        check(&[1.0, 1.0, 1.0], &[0, 1, 2]);
        check(&[7.5], &[0]);
        check(&[], &[]);
    }

    #[test]
    fn a_cycle_without_end_is_cut_near_its_shares() {
        let class = serde_json::json!({"name": "a", "weight": 1.0});
        let other = serde_json::json!({"name": "b", "weight": std::f64::consts::SQRT_2});
        let classes: TrafficClasses =
            serde_json::from_value(serde_json::json!({"assignment": "roundRobin", "classes": [class, other]})).unwrap();
        let turns = classes.turns();
        assert_eq!(turns.len(), 100_000);
        let share = turns.iter().filter(|it| **it == 0).count() as f64 / 100_000.0;
        assert!((share - 1.0 / (1.0 + std::f64::consts::SQRT_2)).abs() < 1e-5, "{share}");
    }
}
