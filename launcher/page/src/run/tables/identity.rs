//! Everything that identifies the run, and the launcher's measurements of itself.

use crds::wording::percent;
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
    if let Some(it) = &document.hardware {
        let price = it
            .price_per_accelerator_hour
            .map(|price| format!(", {} an hour each", text::money(price, it.currency.as_deref().unwrap_or_default())));
        let name = it.accelerator.as_deref().unwrap_or("accelerators");
        add("Hardware, as the user says", format!("{} x {name}{}", it.accelerators, price.unwrap_or_default()));
    }
    Table::of(Section::Identity, "What was measured, with what, and by which program.")
        .texts(["Name", "Value"])
        .rows(rows.into_iter().map(|(name, value)| vec![name, value]))
}

/// The launcher's measurements of itself, beside their bounds.
pub(crate) fn own_part(document: &ReportDocument) -> Table {
    let it = &document.self_judgement;
    let bounds = &document.resolved_run.validity;
    let most = |bound: String| format!("at most {bound}");
    let share = |it: Option<f64>| text::optional(it, percent);
    let rows = [
        ("Send lag, p99", text::optional(it.send_lag_p99_ms, text::time), most(bounds.max_send_lag_p99.to_string())),
        (
            "Receive delay, p99",
            text::optional(it.receive_delay_ms.as_ref().map(|it| it.p99), text::time),
            most(bounds.max_receive_delay_p99.to_string()),
        ),
        ("Busiest load thread", share(it.busiest_share), most(percent(bounds.max_cpu_share))),
        ("Late reads of several events", share(it.late_share), most(percent(bounds.max_coalesced_read_share))),
        ("Periods at the CPU limit", share(it.throttled_share), most(percent(bounds.max_throttled_share))),
        ("CPU time stolen", share(it.steal_share), most(percent(bounds.max_steal_share))),
        ("Time in stalls", share(it.stalled_share), most(percent(bounds.max_stalled_share))),
        (
            "Largest step of the clock",
            text::optional(it.largest_clock_step_ms, text::time),
            most(bounds.max_clock_step.to_string()),
        ),
        ("Dropped values", text::count(it.dropped), most("0".to_owned())),
        ("CPU cores of the load threads", text::optional(it.cores, text::number), String::new()),
    ];
    let caption = "How well the launcher measured. Beyond a bound the run is invalid.";
    Table::new("own-part", "The launcher's own part", caption)
        .texts(["Figure"])
        .numbers(["Found", "Bound"])
        .rows(rows.into_iter().map(|(name, found, bound)| vec![name.to_owned(), found, bound]))
}
