//! Section `trafficClasses`.

use std::collections::{BTreeMap, BTreeSet};

use super::{prompts::Prompt, request::Request};
use crate::{
    formats::common::{bounds::MAX_TOKENS, headers::headers},
    problem::quoted,
    reader::{Section, ValueType},
    workload::{Assignment, Extra, TrafficClass, TrafficClasses},
};

/// The header field with a class's objective, which llm-d's gateway reads.
const OBJECTIVE: &str = "x-llm-d-inference-objective";
/// The header field with a class's flow, which llm-d's gateway reads.
const FAIRNESS: &str = "x-llm-d-inference-fairness-id";
/// Maximum weight of a class.
const MAX_WEIGHT: f64 = 1e9;
/// Maximum number of classes.
const MAX_CLASSES: usize = 1_000;

/// The classes, and the settings that all classes share.
pub(super) struct Classes<'a> {
    pub all: TrafficClasses,
    pub prompt: Prompt<'a>,
    pub streaming: bool,
}

/// Reads the section. `common` contains the keys of the profile's `request`. Returns `None` if at least one problem was reported.
pub(super) fn read<'a>(root: &Section<'a>, common: Request<'a>) -> Option<Classes<'a>> {
    let key = spelling(root, "trafficClasses", "traffic_classes");
    root.require(key, "write at least one, such as {name: normal, weight: 1}");
    let items = root.list(key)?;
    let wanted = items.len();
    if wanted == 0 || wanted > MAX_CLASSES {
        root.problem(key, format!("holds {wanted} classes; write 1 to {MAX_CLASSES}"));
        return None;
    }
    let (mut names, mut classes) = (BTreeSet::new(), Vec::with_capacity(wanted));
    let mut first: Option<(Prompt, bool)> = None;
    for (path, value) in items {
        let Some(section) = root.element(value, path) else { continue };
        let written = Request::of_class(&section);
        let request = written.or(section.section("request").map(Request::read).unwrap_or_default()).or(common);
        let class = class(&section, &request);
        if let Some(class) = &class
            && !names.insert(class.name.clone())
        {
            let message = format!("is {}, the name of an earlier class; choose another one", quoted(&class.name));
            section.problem("name", message);
        }
        match request.prompt() {
            None => section.problem_of_all(format!(
                "has a prompt without words, or with more than {MAX_TOKENS} words; write a text into promptTemplate or prompt, and its repetitions into promptRepeat"
            )),
            Some(prompt) => {
                let found = (prompt, request.streams());
                check_alike(&section, found, *first.get_or_insert(found));
            }
        }
        section.finish();
        classes.extend(class);
    }
    let (prompt, streaming) = first?;
    let all = TrafficClasses { assignment: Assignment::RoundRobin, classes };
    (all.classes.len() == wanted).then_some(Classes { all, prompt, streaming })
}

/// Some settings must be the same for all classes. Adds a problem for each of them that differs from the first class.
fn check_alike(section: &Section, (prompt, streams): (Prompt, bool), (first, first_streams): (Prompt, bool)) {
    if prompt != first {
        section.problem_of_all(format!("has a prompt of {}, but the first class has a prompt of {}; classes cannot have different prompts yet: write one prompt for all classes, or run a profile for each class", prompt.length(), first.length()));
    }
    if streams != first_streams {
        let message = format!(
            "has stream: {streams}, and the first class {first_streams}; write stream once, into request of the profile"
        );
        section.problem_of_all(message);
    }
}

/// Returns which of the two names of a key the section contains. Adds a problem if it contains both.
fn spelling(section: &Section, name: &'static str, alias: &'static str) -> &'static str {
    match (section.value(name).is_some(), section.value(alias).is_some()) {
        (true, true) => section.problem(alias, format!("means the same as {name}; keep one of them")),
        (false, true) => return alias,
        (_, false) => {}
    }
    name
}

fn class(section: &Section, request: &Request) -> Option<TrafficClass> {
    section.require("name", "write a name, under which the report shows the figures of the class");
    let name = section.text("name").map(str::trim);
    if name.is_some_and(str::is_empty) {
        section.problem("name", "is blank; write a name, under which the report shows the figures of the class");
    }
    let weight = section.or_default("weight", 1.0, |it, key| it.positive_number(key, MAX_WEIGHT));
    let headers = headers_of(section);
    Some(TrafficClass {
        name: name?.to_owned(),
        weight: weight?,
        model: None,
        headers,
        output: Some(request.max_tokens()),
        extra: Extra::default(),
    })
}

/// Returns the header fields of a class: the fields that it sets, its objective and its flow (fairness id).
fn headers_of(section: &Section) -> BTreeMap<String, String> {
    let mut fields = section.section("headers").as_ref().map(headers).unwrap_or_default();
    let fairness = spelling(section, "fairnessID", "fairness_id");
    for (key, name) in [("objective", OBJECTIVE), (fairness, FAIRNESS)] {
        let Some(value) = section.text(key).map(str::trim).filter(|it| !it.is_empty()) else { continue };
        if value.len() > 256 || !value.bytes().all(|it| (b'!'..=b'~').contains(&it)) {
            section.problem(key, format!("is {}; write at most 256 ASCII characters without blanks", quoted(value)));
        }
        match fields.iter().find(|(written, _)| written.eq_ignore_ascii_case(name)) {
            Some((_, written)) if written == value => {}
            Some((_, written)) => {
                let message =
                    format!("is {}, but headers has {name}, which is sent: {}", quoted(value), quoted(written));
                section.notice(key, message);
            }
            None => drop(fields.insert(name.to_owned(), value.to_owned())),
        }
    }
    if section.ignored("priority", ValueType::Number) && section.value("objective").is_none() {
        let message = "is not sent, as in the original, which only shows it in its results; the server takes the priority from the objective";
        section.notice("priority", message);
    }
    fields
}
