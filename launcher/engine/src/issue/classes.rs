//! Traffic classes: assigns a class to each request, and holds the settings of each class. Pure.

use std::sync::Arc;

use crds::{benchmark_run::Api, units::Seed};
use http::HeaderMap;
use rand::RngExt as _;
use workload_profiles::{
    Workload,
    workload::{Assignment, TrafficClass},
};

use crate::{
    client::{
        TargetError,
        body::{BodyTemplate, Streaming},
        header_fields,
    },
    requests::draws,
};

/// The classes of a workload.
#[derive(Debug, Default)]
pub(super) struct Classes {
    assignment: Assignment,
    /// The repeating sequence of class indices, if classes are assigned round-robin.
    turns: Vec<u16>,
    /// Cumulative weights of the classes.
    sums: Vec<f64>,
    classes: Vec<Class>,
    /// The seed of the random assignment in each stage.
    seeds: Vec<Seed>,
}

/// Settings that the requests of a class share.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) template: BodyTemplate,
    /// Header fields in addition to the workload's; `None` if there are none.
    pub(super) headers: Option<Arc<HeaderMap>>,
    /// Maximum output tokens; `None` means that each request has its own maximum.
    pub(super) output: Option<u32>,
}

impl Classes {
    /// Creates the classes. `seed` returns the seed of the random assignment in a stage.
    ///
    /// # Errors
    /// A class has a header field that cannot be sent.
    pub(super) fn new(
        workload: &Workload,
        api: Api,
        model: &str,
        seed: impl Fn(usize) -> Seed,
    ) -> Result<Classes, TargetError> {
        let class = |class: &TrafficClass| {
            let headers = (!class.headers.is_empty()).then(|| header_fields(&class.headers)).transpose()?;
            let template =
                BodyTemplate::of_class(api, model, Streaming::from_workload(workload), &workload.sampling, class);
            Ok(Class { template, headers: headers.map(Arc::new), output: class.output })
        };
        let all = &workload.classes.classes;
        let sums = all.iter().scan(0.0, |sum, it| {
            *sum += it.weight;
            Some(*sum)
        });
        let turns = match workload.classes.assignment {
            Assignment::RoundRobin => workload.classes.turns(),
            Assignment::Random => Vec::new(),
        };
        Ok(Classes {
            assignment: workload.classes.assignment,
            turns,
            sums: sums.collect(),
            classes: all.iter().map(class).collect::<Result<_, TargetError>>()?,
            seeds: (0..workload.stages.len()).map(seed).collect(),
        })
    }

    /// Returns the class of a request, with its index; `None` if there are no classes. The result depends on no other request, so each
    /// worker can compute it alone.
    pub(super) fn get(&self, stage: usize, number: u64) -> Option<(u16, &Class)> {
        let (last, whole) = (self.classes.len().checked_sub(1)?, self.sums.last().copied()?);
        let index = match self.assignment {
            Assignment::RoundRobin => {
                let turn = number.checked_rem(self.turns.len() as u64)? as usize;
                usize::from(self.turns[turn])
            }
            Assignment::Random => {
                let seed = self.seeds.get(stage).copied().unwrap_or(Seed(0));
                let drawn = draws(seed, number).random::<f64>() * whole;
                // A rounding error must not select an index beyond the last class.
                self.sums.partition_point(|sum| *sum <= drawn).min(last)
            }
        };
        Some((u16::try_from(index).unwrap_or(u16::MAX), &self.classes[index]))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn classes(assignment: &str, weights: &[f64]) -> Classes {
        let all: Vec<_> =
            weights.iter().zip(0..).map(|(weight, it)| json!({"name": format!("c{it}"), "weight": weight})).collect();
        let workload: Workload = serde_json::from_value(json!({
            "api": "OpenAICompletions", "streaming": true, "requests": "mock",
            "stages": [
                {"name": "a", "load": {"burst": {"count": 1}}, "pauseAfter": "0s"},
                {"name": "b", "load": {"burst": {"count": 1}}, "pauseAfter": "0s"},
            ],
            "classes": {"assignment": assignment, "classes": all},
        }))
        .unwrap();
        Classes::new(&workload, Api::Completions, "m", |stage| Seed(7).derive(&format!("stage/{stage}/classes")))
            .unwrap()
    }

    fn drawn(classes: &Classes, stage: usize, count: u64) -> Vec<u16> {
        (0..count).map(|it| classes.get(stage, it).unwrap().0).collect()
    }

    #[test]
    fn classes_are_drawn_by_their_weights_and_alike_for_a_seed() {
        let weights = [1.0, 3.0, 4.0];
        let all = classes("random", &weights);
        let drawn_once = drawn(&all, 0, 20_000);
        for (index, weight) in (0_u16..).zip(weights) {
            let (share, found) = (weight / 8.0, drawn_once.iter().filter(|it| **it == index).count() as f64);
            // Tolerance: five standard deviations of a binomial draw.
            let error = 5.0 * (20_000.0 * share * (1.0 - share)).sqrt();
            assert!((found - 20_000.0 * share).abs() < error, "{index}: {found}");
        }
        assert_eq!(drawn_once, drawn(&classes("random", &weights), 0, 20_000));
        assert_ne!(drawn_once, drawn(&all, 1, 20_000), "each stage has draws of its own");
    }

    #[test]
    fn classes_take_turns_by_their_weights() {
        assert_eq!(drawn(&classes("roundRobin", &[1.0, 1.0, 1.0]), 0, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(drawn(&classes("roundRobin", &[0.2, 0.6, 0.2]), 1, 12), [1, 0, 1, 2, 1, 1, 0, 1, 2, 1, 1, 0]);
        assert!(classes("random", &[]).get(0, 0).is_none());
    }
}
