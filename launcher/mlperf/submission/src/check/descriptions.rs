//! Checks the files that people write: systems/<system>.json and measurements.json.

use serde_json::{Map, Value};

use super::{
    super::{findings::About, layout::Division, rules::Rule, tree::MAX_TEXT},
    Case, Check,
};

/// Keys that must exist in a system description with a non-empty value.
const SAID: [&str; 26] = [
    "division",
    "submitter",
    "status",
    "system_name",
    "number_of_nodes",
    "host_processor_model_name",
    "host_processors_per_node",
    "host_processor_core_count",
    "host_memory_capacity",
    "host_storage_capacity",
    "host_storage_type",
    "accelerators_per_node",
    "accelerator_model_name",
    "accelerator_memory_capacity",
    "framework",
    "operating_system",
    "system_type",
    "other_software_stack",
    "host_memory_configuration",
    "host_networking",
    "host_networking_topology",
    "accelerator_host_interconnect",
    "accelerator_interconnect",
    "accelerator_memory_configuration",
    "cooling",
    "host_network_card_count",
];
/// Keys that must exist in a system description, but can have an empty value.
const PRESENT: [&str; 9] = [
    "host_processor_frequency",
    "host_processor_caches",
    "host_processor_interconnect",
    "accelerator_frequency",
    "accelerator_interconnect_topology",
    "accelerator_on-chip_memories",
    "hw_notes",
    "sw_notes",
    "system_type_detail",
];
const STATUS: [&str; 3] = ["available", "preview", "rdi"];
const TYPES: [&str; 4] = ["datacenter", "edge", "datacenter,edge", "edge,datacenter"];
/// Additional keys that must have a non-empty value in the network division.
const NETWORK: [&str; 12] = [
    "network_type",
    "network_media",
    "network_rate",
    "nic_loadgen",
    "number_nic_loadgen",
    "net_software_stack_loadgen",
    "network_protocol",
    "number_connections",
    "nic_sut",
    "number_nic_sut",
    "net_software_stack_sut",
    "network_topology",
];
const MEASUREMENTS: [&str; 5] =
    ["input_data_types", "retraining", "starting_weights_filename", "weight_data_types", "weight_transformations"];

/// Whether a name can be used as a folder name in a tree, on every operating system.
pub(in super::super) fn is_name(name: &str) -> bool {
    let fits = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '+');
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.chars().all(fits)
}

impl Check {
    /// Checks the description of a system. Returns its system type, if the description has a valid one.
    pub(super) fn system(&mut self, division: Division, submitter: &str, path: &str, system: &str) -> Option<String> {
        let file = format!("{path}/systems/{system}.json");
        let object = self.object(&file, Rule::SystemJson)?;
        let mut about = self.findings.about(&file);
        let absent: Vec<_> = SAID.iter().chain(&PRESENT).filter(|it| !object.contains_key(**it)).copied().collect();
        about.want(absent.is_empty(), Rule::SystemKey, "", "an object that lacks keys", absent.join(", "));
        for key in SAID.iter().filter(|it| object.contains_key(**it)) {
            about.want(said(&object, key), Rule::SystemEmpty, key, "no value", "a value");
        }
        // Missing and empty values were already reported, so only non-empty values are judged here.
        let mut judge = |rule, key: &str, met: &dyn Fn(&str) -> bool, wanted: &str| {
            let found = text(&object, key);
            let met = met(&found);
            about.want(met || !said(&object, key), rule, key, &found, wanted);
            met.then_some(found)
        };
        let status = |it: &str| STATUS.contains(&it.to_lowercase().as_str());
        judge(Rule::SystemStatus, "status", &status, &STATUS.join(", "));
        let system_type = judge(Rule::SystemType, "system_type", &|it| TYPES.contains(&it), &TYPES.join("; "));
        // Case matters only for the division, and only in checkers before v6.0.
        let exact = !self.layout.together();
        let named = |it: &str, wanted: &str, exact: bool| {
            if exact { it == wanted } else { it.to_lowercase() == wanted.to_lowercase() }
        };
        judge(Rule::SystemNames, "division", &|it| named(it, division.name(), exact), division.name());
        judge(Rule::SystemNames, "submitter", &|it| named(it, submitter, false), submitter);
        for key in ["number_of_nodes", "accelerators_per_node"] {
            judge(Rule::SystemCounts, key, &|it| it.trim().parse::<u32>().is_ok(), "a whole number");
        }
        judge(Rule::SystemNoNodes, "number_of_nodes", &|it| it.trim().parse() != Ok(0), "1 or more");
        network(division, &object, &mut about);
        system_type
    }

    pub(super) fn measurements(&mut self, case: &Case) {
        let file = self.facts(case);
        let Some(object) = self.object(&file, Rule::Measurements) else { return };
        let mut about = self.findings.about(&file);
        for key in MEASUREMENTS {
            about.want(said(&object, key), Rule::Measurements, key, text(&object, key), "a value");
        }
    }

    /// Returns the file with the facts about the weights. For rounds before v6.0, it is any JSON file whose name begins with the system's name.
    fn facts(&self, case: &Case) -> String {
        let name = self.layout.facts(&case.system);
        let fits = |it: &str| it.starts_with(&case.system) && it.ends_with(".json");
        let entries =
            if self.layout.together() { Vec::new() } else { self.tree.entries(&case.measurements).unwrap_or_default() };
        let found = entries.into_iter().map(|(file, _)| file).find(|it| fits(it));
        format!("{}/{}", case.measurements, found.unwrap_or(name))
    }

    fn object(&mut self, file: &str, rule: Rule) -> Option<Map<String, Value>> {
        let text = self.tree.text(file, MAX_TEXT);
        let text = text.map_err(|error| self.findings.fault(file, &error, Rule::MissingFile)).ok()?;
        serde_json::from_str(&text)
            .map_err(|error| self.findings.add(rule, file, "", format!("no such thing ({error})"), "a JSON object"))
            .ok()
    }
}

fn network(division: Division, object: &Map<String, Value>, about: &mut About<'_>) {
    let key = "is_network";
    let found = text(object, key);
    let is_network = found.eq_ignore_ascii_case("true");
    match division {
        Division::Network => {
            about.want(is_network, Rule::SystemNetwork, key, found, "true");
            for key in NETWORK {
                about.want(said(object, key), Rule::SystemNetwork, key, text(object, key), "a value");
            }
        }
        Division::Closed => about.want(!is_network, Rule::SystemNetwork, key, found, "false, or no such key"),
        Division::Open => {}
    }
}

/// Returns the value of a key as text, interpreted as MLPerf's checker does.
fn text(object: &Map<String, Value>, key: &str) -> String {
    match object.get(key) {
        None | Some(Value::Null) => "nothing".into(),
        Some(Value::String(it)) => it.clone(),
        Some(other) => other.to_string(),
    }
}

fn said(object: &Map<String, Value>, key: &str) -> bool {
    match object.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::String(it)) => !it.trim().is_empty(),
        Some(_) => true,
    }
}
