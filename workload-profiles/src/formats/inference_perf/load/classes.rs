//! `load.lora_traffic_split`: a list of LoRA adapters. Each request selects one at random.

use std::collections::BTreeMap;

use crate::{
    problem::quoted,
    reader::Section,
    workload::{Assignment, Extra, TrafficClass, TrafficClasses},
};

/// Maximum number of adapters.
const MAX_ADAPTERS: usize = 1000;
/// Maximum difference between the sum of all splits and 1. inference-perf requires a floating-point sum of exactly 1.
const TOLERANCE: f64 = 1e-6;

/// Reads the list. Returns `None` if at least one problem was reported.
pub(super) fn read(load: &Section) -> Option<TrafficClasses> {
    const KEY: &str = "lora_traffic_split";
    if load.value(KEY).is_none() {
        return Some(TrafficClasses::default());
    }
    let items = load.list(KEY)?;
    if items.len() > MAX_ADAPTERS {
        load.problem(KEY, format!("holds {} adapters; write at most {MAX_ADAPTERS}", items.len()));
        return None;
    }
    let count = items.len();
    let mut classes: Vec<TrafficClass> = Vec::with_capacity(count);
    for (path, value) in items {
        let Some(section) = load.element(value, path) else { continue };
        let class = adapter(&section);
        if let Some(class) = &class
            && classes.iter().any(|it| it.name == class.name)
        {
            section
                .problem("name", format!("is {}, the name of an entry above; keep one of them", quoted(&class.name)));
        }
        section.finish();
        classes.extend(class);
    }
    if classes.len() < count {
        return None;
    }
    let sum: f64 = classes.iter().map(|it| it.weight).sum();
    if !classes.is_empty() && (sum - 1.0).abs() > TOLERANCE {
        load.problem(KEY, format!("adds up to {sum}; change a split so that the sum is 1"));
    } else if !classes.is_empty() && sum != 1.0 {
        load.notice(KEY, format!("adds up to {sum} in floating point, which inference-perf refuses; it is read as 1"));
    }
    Some(TrafficClasses { assignment: Assignment::Random, classes })
}

fn adapter(section: &Section) -> Option<TrafficClass> {
    section.require("name", "write the name of the adapter, as the server knows it");
    section.require("split", "write its share of the requests, above 0 and at most 1");
    let name = section.text("name");
    let split = section.positive_number("split", 1.0);
    if name.is_some_and(|it| it.trim().is_empty()) {
        section.problem("name", "is empty; write the name of the adapter, as the server knows it");
    }
    let name = name.filter(|it| !it.trim().is_empty())?.to_owned();
    Some(TrafficClass {
        model: Some(name.clone()),
        name,
        weight: split?,
        output: None,
        headers: BTreeMap::new(),
        extra: Extra::default(),
    })
}
