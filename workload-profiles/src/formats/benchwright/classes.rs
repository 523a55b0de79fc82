//! Classes of requests, such as LoRA adapters and priorities.

use std::collections::BTreeSet;

use super::prefixes::MAX_WEIGHT;
use crate::{
    formats::common::{bounds::MAX_TOKENS, fields::extra, headers::headers},
    problem::quoted,
    reader::Section,
    workload::{Assignment, TrafficClass, TrafficClasses},
};

/// Maximum number of classes. The report has separate figures for each.
const MAX_CLASSES: usize = 1_000;
/// The longest name of a class, in bytes.
const MAX_NAME: usize = 256;

/// Reads the section `classes`; Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section) -> Option<TrafficClasses> {
    section.require("classes", "write at least one, such as {name: batch, weight: 1}");
    let assignments = [("random", Assignment::Random), ("roundRobin", Assignment::RoundRobin)];
    let assignment = section.or_default("assignment", Assignment::default(), |it, key| it.choice(key, &assignments));
    let classes = classes(&section);
    section.finish();
    Some(TrafficClasses { assignment: assignment?, classes: classes? })
}

fn classes(section: &Section) -> Option<Vec<TrafficClass>> {
    let items = section.list("classes")?;
    let wanted = items.len();
    if wanted == 0 || wanted > MAX_CLASSES {
        section.problem("classes", format!("holds {wanted} classes; write 1 to {MAX_CLASSES}"));
        return None;
    }
    let mut names = BTreeSet::new();
    let mut classes = Vec::with_capacity(wanted);
    for (path, value) in items {
        let Some(item) = section.element(value, path) else { continue };
        let class = class(&item);
        if let Some(class) = &class
            && !names.insert(class.name.clone())
        {
            item.problem(
                "name",
                format!("is {}, the name of an earlier class; choose another one", quoted(&class.name)),
            );
        }
        item.finish();
        classes.extend(class);
    }
    (classes.len() == wanted).then_some(classes)
}

fn class(section: &Section) -> Option<TrafficClass> {
    section.require("name", "write a name, under which the report shows the figures of the class");
    let name = section.text("name").filter(|name| {
        let right = !name.trim().is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_control);
        if !right {
            section.problem("name", format!("is {}; write 1 to {MAX_NAME} bytes on one line", quoted(name)));
        }
        right
    });
    let weight = section.or_default("weight", 1.0, |it, key| it.positive_number(key, MAX_WEIGHT));
    let model = section.text("model").filter(|it| !it.trim().is_empty()).map(str::to_owned);
    let headers = section.section("headers").as_ref().map(headers).unwrap_or_default();
    let output = section.count_u32("output", 1..=MAX_TOKENS);
    let extra = extra(section).unwrap_or_default();
    Some(TrafficClass { name: name?.to_owned(), weight: weight?, model, headers, output, extra })
}
