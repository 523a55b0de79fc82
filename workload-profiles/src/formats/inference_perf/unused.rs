//! Sections about inference-perf's own work. They have no effect here, so only the types of their keys are checked.

use crate::reader::{Section, ValueType};

pub(super) fn check(root: &Section) {
    if let Some(section) = root.section("metrics") {
        section.choice("type", &[("prometheus", ()), ("default", ())]);
        if let Some(prometheus) = section.section("prometheus") {
            prometheus.all_ignored(&[
                ("scrape_interval", ValueType::Number),
                ("url", ValueType::Text),
                ("google_managed", ValueType::Bool),
                ("filters", ValueType::List),
            ]);
            prometheus.finish();
            section.notice("prometheus", "is not used: no Prometheus server is read");
        }
        section.finish();
    }
    root.ignored("observability", ValueType::Mapping);
    if let Some(section) = root.section("storage") {
        storage(section);
    }
}

fn storage(section: Section) {
    const CLOUDS: [&str; 2] = ["google_cloud_storage", "simple_storage_service"];
    if let Some(local) = section.section("local_storage") {
        local.all_ignored(&[("path", ValueType::Text), ("report_file_prefix", ValueType::Text)]);
        local.finish();
    }
    for key in CLOUDS {
        if section.ignored(key, ValueType::Mapping) {
            section.notice(key, "is not used: results stay in the storage of the run, nothing is uploaded");
        }
    }
    section.finish();
}
