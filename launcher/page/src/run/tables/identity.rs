//! The table of everything that identifies the run.

use document::{ReportDocument, Section};

use crate::{table::Table, text};

pub(crate) fn table(document: &ReportDocument) -> Table {
    let run = &document.resolved_run;
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| rows.push((name.to_owned(), value));
    add("Run", document.run.title());
    if !document.run.namespace.is_empty() {
        add("Namespace", document.run.namespace.clone());
    }
    add("UID, attempt", format!("{}, {}", document.run.uid, document.run.attempt));
    add("Model", document.model.clone());
    add("Target", run.endpoint.name().to_owned());
    add("Harness and profile", format!("{}, {}", run.harness.name(), report::profile(run)));
    add("SHA-256 of profile.yaml", document.inputs.profile_sha256.clone());
    for file in &document.inputs.files {
        let digest = file.sha256.as_deref().unwrap_or("unknown");
        add("SHA-256 of a file", format!("{digest} {}", file.path.display()));
    }
    add("Seed, prompt salt", format!("{}, {}", document.seeds.run.0, document.seeds.prompt_salt));
    add("Benchwright", format!("{}, commit {}", document.tool_version, document.tool_commit));
    if let Some(server) = &document.server {
        let it = &server.before;
        for (name, value) in [
            ("Engine, as the server says", &it.engine),
            ("Version, as the server says", &it.version),
            ("Simulated by", &it.simulator),
            ("Server header", &it.server_header),
            ("Model, as the server says", &it.model),
            ("Model root", &it.model_root),
            ("Model revision", &it.model_revision),
        ] {
            if let Some(value) = value {
                add(name, value.clone());
            }
        }
        if let Some(length) = it.max_model_len {
            add("Longest context", format!("{} tokens", text::count(length)));
        }
    }
    for it in document.server_metrics.iter().flat_map(|it| &it.identity) {
        let setting = |(name, value): (&String, &String)| format!("{name}={value}");
        let settings: Vec<String> = it.cache_config.iter().map(setting).collect();
        if !settings.is_empty() {
            add("Cache settings, as the server says", settings.join(" "));
        }
        for (gpu, count) in &it.gpus {
            add("GPUs, as their exporter says", format!("{count} x {gpu}"));
        }
    }
    if let Some(cores) = document.self_judgement.cores {
        add("CPU cores of the load threads", text::number(cores));
    }
    if let Some(it) = &document.hardware {
        let price = it
            .price_per_accelerator_hour
            .map(|price| format!(", {} an hour each", text::money(price, it.currency.as_deref().unwrap_or_default())));
        let name = it.accelerator.as_deref().unwrap_or("accelerators");
        add("Hardware, as the user says", format!("{} x {name}{}", it.accelerators, price.unwrap_or_default()));
    }
    Table::of(Section::Identity, "What was measured, with which load, and by which program.")
        .texts(["Name", "Value"])
        .rows(rows.into_iter().map(|(name, value)| vec![name, value]))
}
