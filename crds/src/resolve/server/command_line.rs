//! Converts the fields of a managed server into arguments of its engine.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{managed_server::FIELD, options};
use crate::{
    AnyValue,
    benchmark_run::{MAX_SERVER_SCRIPT, MAX_SERVER_TEXT, Server},
    resolve::Errors,
    server_engine::{Program, ServerEngine},
    wording::quoted,
};

/// Maximum length of the name of an option or an environment variable, in characters.
const MAX_NAME: usize = 128;
/// Maximum number of GPUs for one copy of a model.
const MAX_GPUS: u32 = 1024;

/// The fields of the spec that become options of the engine.
const FIELDS: [&str; 7] =
    ["tensorParallelSize", "maxModelLen", "maxNumSeqs", "gpuMemoryUtilization", "dtype", "quantization", "loadFormat"];

/// The command to start, without the options for model, address and port.
#[derive(Default)]
pub(super) struct CommandLine {
    pub(super) command: Vec<String>,
    pub(super) args: Vec<String>,
    /// Options that this release does not know.
    pub(super) unknown: Vec<String>,
}

/// Builds the command. `gpus` is the number of GPUs per replica, if the spec determines it.
pub(super) fn build(server: &Server, gpus: Option<u32>, errors: &mut Errors) -> CommandLine {
    check_texts(server, errors);
    let written = written_options(server);
    check_options(server, &written, errors);
    let of_fields = server.engine.row().options.of_fields;
    let mut args = Vec::new();
    for (field, value) in fields(server, gpus, &written, errors) {
        let option = of_fields.iter().find(|it| it.0 == field).expect("each field has its option");
        args.extend([format!("--{}", option.1), value]);
    }
    for (name, value) in &server.config {
        args.extend(option(server.engine, name, value, errors));
    }
    args.extend(server.args.iter().cloned());
    let unknown = written.keys().filter(|it| !options::is_known(server.engine, it)).cloned().collect();
    CommandLine { command: command(server), args, unknown }
}

/// Whether config or args set the model, or set a configuration file that can set it.
pub(super) fn names_model(server: &Server) -> bool {
    let written = written_options(server);
    let models = ServerEngine::ALL.into_iter().filter_map(|it| Some(it.row().model?.option));
    models.chain(["config"]).any(|it| written.contains_key(it))
}

/// Whether config or args set the served model name, or set a configuration file that can set it.
pub(super) fn names_served_model(server: &Server) -> bool {
    let written = written_options(server);
    ["served-model-name", "config"].iter().any(|it| written.contains_key(*it))
}

fn command(server: &Server) -> Vec<String> {
    let default: &[&str] = match server.engine.row().program {
        Program::Words(words) if !server.offline => words,
        _ => &[],
    };
    if server.command.is_empty() { default.iter().map(|it| (*it).to_owned()).collect() } else { server.command.clone() }
}

/// The options in config and args: canonical name -> the places where the option is set.
fn written_options(server: &Server) -> BTreeMap<String, Vec<&'static str>> {
    let mut found: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    let mut add = |name: &str, place| {
        let name = options::canonical(server.engine, name).into_owned();
        let places = found.entry(name).or_default();
        // In args, an option may legitimately occur several times.
        if !places.contains(&place) || place == "config" {
            places.push(place);
        }
    };
    for name in server.config.keys() {
        add(name, "config");
    }
    for arg in &server.args {
        let long = arg.strip_prefix("--");
        let short = arg.strip_prefix('-').filter(|it| ["tp", "pp", "dp", "q"].contains(it));
        if let Some(name) = long.or(short).filter(|it| !it.is_empty()) {
            add(name.split('=').next().unwrap_or_default(), "args");
        }
    }
    found
}

/// Refuses options that are given twice, and options that Benchwright sets itself.
fn check_options(server: &Server, written: &BTreeMap<String, Vec<&'static str>>, errors: &mut Errors) {
    for (name, places) in written {
        let positive = name.strip_prefix("no-").unwrap_or(name);
        let place = format!("{FIELD}.{}", places.first().copied().unwrap_or("args"));
        let field = options::field_of(server.engine, positive).filter(|it| is_set(server, it));
        if options::is_secret(name) {
            let remedy =
                "take it out, and export the variable that the server reads before the run, such as VLLM_API_KEY";
            errors.add(&place, &format!("has {}, a secret that every report would show; {remedy}", shown(name)));
        } else if let Some(refusal) = options::refusal(server.engine, name) {
            errors.add(&place, &format!("has {}, and {refusal}", shown(name)));
        } else if let Some(field) = field {
            let message = format!("has {}, which {field} sets too; keep one of them", shown(name));
            errors.add(&place, &message);
        } else if places.len() > 1 {
            let others =
                if places.contains(&"args") { "args has it too" } else { "the same option has another name there" };
            errors.add(&place, &format!("has {}, and {others}; keep one of them", shown(name)));
        }
    }
}

fn shown(option: &str) -> String {
    crate::wording::cut(&format!("--{option}"))
}

/// Whether this field of the spec is set.
fn is_set(server: &Server, field: &str) -> bool {
    match field {
        "model" => server.model.is_some() || server.model_claim.is_some(),
        "tensorParallelSize" => server.tensor_parallel_size.is_some(),
        "maxModelLen" => server.max_model_len.is_some(),
        "maxNumSeqs" => server.max_num_seqs.is_some(),
        "gpuMemoryUtilization" => server.gpu_memory_utilization.is_some(),
        "dtype" => server.dtype.is_some(),
        "quantization" => server.quantization.is_some(),
        "loadFormat" => server.load_format.is_some(),
        _ => false,
    }
}

/// Returns the set fields that become options, with their values.
fn fields(
    server: &Server,
    gpus: Option<u32>,
    written: &BTreeMap<String, Vec<&'static str>>,
    errors: &mut Errors,
) -> Vec<(&'static str, String)> {
    let options = &server.engine.row().options;
    let has_effect =
        |field: &str| options.of_fields.iter().any(|it| it.0 == field) && !options.ignored_fields.contains(&field);
    for field in FIELDS.into_iter().filter(|it| is_set(server, it) && !has_effect(it)) {
        let (name, remedy) = (server.engine.name(), options.remedy);
        errors.add(&format!("{FIELD}.{field}"), &format!("has no effect with engine {name}; {remedy}"));
    }
    for (field, count) in [("maxModelLen", server.max_model_len), ("maxNumSeqs", server.max_num_seqs)] {
        if count == Some(0) {
            errors.add(&format!("{FIELD}.{field}"), "is 0; write at least 1");
        }
    }
    let tensor_parallel =
        if has_effect("tensorParallelSize") { tensor_parallel(server, gpus, written, errors) } else { None };
    let number = |it: Option<u32>| it.map(|it| it.to_string());
    [
        ("tensorParallelSize", tensor_parallel.filter(|it| *it > 1 || is_count(server)).map(|it| it.to_string())),
        ("maxModelLen", number(server.max_model_len)),
        ("maxNumSeqs", number(server.max_num_seqs)),
        ("gpuMemoryUtilization", memory_share(server, errors)),
        ("dtype", server.dtype.clone()),
        ("quantization", server.quantization.clone()),
        ("loadFormat", server.load_format.clone()),
    ]
    .into_iter()
    .filter(|(field, _)| has_effect(field))
    .filter_map(|(field, value)| Some((field, value?)))
    .collect()
}

/// Whether tensorParallelSize is a number and not `Auto`.
fn is_count(server: &Server) -> bool {
    server.tensor_parallel_size.as_ref().is_some_and(|it| it.text() != "Auto")
}

/// Number of GPUs for one copy of the model. `None` if the engine decides.
fn tensor_parallel(
    server: &Server,
    gpus: Option<u32>,
    written: &BTreeMap<String, Vec<&'static str>>,
    errors: &mut Errors,
) -> Option<u32> {
    let field = format!("{FIELD}.tensorParallelSize");
    let copies = other_parallelism(server);
    match server.tensor_parallel_size.as_ref().map(AnyValue::text).as_deref() {
        None if written.contains_key("tensor-parallel-size") => None,
        None | Some("Auto") => {
            let gpus = gpus?;
            if gpus % copies != 0 {
                let message = format!(
                    "is Auto, and the {gpus} GPUs of a replica cannot be divided by {copies}, the product of pipeline and data parallelism; \
                     write the number"
                );
                errors.add(&field, &message);
            }
            Some(gpus / copies)
        }
        Some(text) => {
            let Some(count) = text.parse().ok().filter(|it| (1..=MAX_GPUS).contains(it)) else {
                errors.add(&field, &format!("is {}; write Auto, or a number from 1 to {MAX_GPUS}", quoted(text)));
                return None;
            };
            if let Some(gpus) = gpus.filter(|it| count.saturating_mul(copies) > *it) {
                let all = count.saturating_mul(copies);
                let asked = if copies > 1 {
                    format!("{count}, which takes {all} GPUs with the parallelism in config")
                } else {
                    count.to_string()
                };
                let message = format!(
                    "is {asked}, and a replica has {gpus} GPUs; lower it, write Auto, or give the replica more in devices or resources"
                );
                errors.add(&field, &message);
            }
            Some(count)
        }
    }
}

/// Returns the number of GPUs per copy of the model, and of copies per replica, as set in fields or config. Each is 1 if it is not set.
pub(super) fn parallelism(server: &Server, gpus: Option<u32>) -> [u32; 2] {
    // Errors in these fields were already reported when the arguments were built.
    let tensor = tensor_parallel(server, gpus, &written_options(server), &mut Errors::default());
    [tensor.unwrap_or_else(|| configured(server, "tensor-parallel-size")), configured(server, "data-parallel-size")]
}

/// The product of pipeline and data parallelism in config. It excludes SGLang's data parallelism with DP attention, which uses the same GPUs as
/// tensor parallelism.
fn other_parallelism(server: &Server) -> u32 {
    let is_shared = |(name, value): (&String, &AnyValue)| {
        options::canonical(server.engine, name) == "enable-dp-attention" && value.text() == "true"
    };
    let data = if server.config.iter().any(is_shared) { 1 } else { configured(server, "data-parallel-size") };
    configured(server, "pipeline-parallel-size").saturating_mul(data)
}

/// The value of a numeric option of config, at least 1.
fn configured(server: &Server, option: &str) -> u32 {
    let found = server.config.iter().find(|(name, _)| options::canonical(server.engine, name) == option);
    found.and_then(|(_, value)| value.text().parse::<u32>().ok()).unwrap_or(1).max(1)
}

fn memory_share(server: &Server, errors: &mut Errors) -> Option<String> {
    let text = server.gpu_memory_utilization.as_ref()?.text();
    if !text.parse::<f64>().is_ok_and(|it| it > 0.0 && it <= 1.0) {
        let message = format!("is {}; write a number above 0 and up to 1, such as 0.9", quoted(&text));
        errors.add(&format!("{FIELD}.gpuMemoryUtilization"), &message);
    }
    Some(text)
}

/// Converts an option of config into arguments.
fn option(engine: ServerEngine, written: &str, value: &AnyValue, errors: &mut Errors) -> Vec<String> {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let begins = written.starts_with(|it: char| it.is_ascii_alphanumeric());
    if !begins || written.len() > MAX_NAME || !written.chars().all(plain) {
        let remedy =
            "write the name of an option of the engine without dashes before it, such as max-num-batched-tokens";
        errors.add(&format!("{FIELD}.config"), &format!("has {}; {remedy}", quoted(written)));
        return Vec::new();
    }
    let name = options::canonical(engine, written);
    match &value.0 {
        Value::Bool(true) => vec![format!("--{name}")],
        Value::Bool(false) if engine.row().options.has_negation => vec![format!("--no-{name}")],
        Value::Bool(false) => Vec::new(),
        Value::Null => {
            let message = "is empty; write a value, true or false, or take it out";
            errors.add(&format!("{FIELD}.config.{name}"), message);
            Vec::new()
        }
        _ => {
            let text = value.text();
            check_text(&format!("config.{name}"), &text, errors);
            // Write a value that begins with a dash as `--name=value`. Otherwise the engine would read it as the next option.
            if text.starts_with('-') { vec![format!("--{name}={text}")] } else { vec![format!("--{name}"), text] }
        }
    }
}

/// Checks the texts. The schema checks the same, except that no argument of a process can contain NUL.
fn check_texts(server: &Server, errors: &mut Errors) {
    for (field, texts) in [("command", &server.command), ("args", &server.args)] {
        for (index, text) in texts.iter().enumerate() {
            check_text(&format!("{field}[{index}]"), text, errors);
        }
    }
    if let Some(script) = &server.preprocess {
        check_script(script, errors);
    }
    if server.command.first().is_some_and(|it| it.trim().is_empty()) {
        errors.add(&format!("{FIELD}.command[0]"), "is empty; write the program, such as vllm or /opt/venv/bin/vllm");
    }
    for (field, text) in
        [("dtype", &server.dtype), ("quantization", &server.quantization), ("loadFormat", &server.load_format)]
    {
        let Some(text) = text else { continue };
        if text.is_empty() || text.starts_with('-') || text.chars().any(|it| it.is_control() || it.is_whitespace()) {
            let message = format!("is {}; write one word, as the engine names it", quoted(text));
            errors.add(&format!("{FIELD}.{field}"), &message);
        }
    }
    for (name, value) in &server.env {
        let plain = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let begins = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
        if !begins || name.len() > MAX_NAME || !name.chars().all(plain) {
            let remedy = "write the name of a variable, of letters, digits and underscores, such as VLLM_LOGGING_LEVEL";
            errors.add(&format!("{FIELD}.env"), &format!("has {}; {remedy}", quoted(name)));
        } else if options::is_secret_variable(name) && !value.is_empty() {
            let remedy =
                "take it out; in a cluster name a Secret in hubToken, and elsewhere export the variable before the run";
            errors.add(&format!("{FIELD}.env.{name}"), &format!("is a secret that every report would show; {remedy}"));
        } else {
            check_text(&format!("env.{name}"), value, errors);
        }
    }
}

fn check_script(script: &str, errors: &mut Errors) {
    let field = format!("{FIELD}.preprocess");
    let count = script.chars().count();
    // `NAME=` at the beginning of a word sets a variable. A value that begins with `$` is a reference and contains no secret.
    let secret = script.split(|it: char| it.is_whitespace() || ";&|(".contains(it)).find_map(|word| {
        let (name, value) = word.split_once('=')?;
        let is_plain = !value.trim_start_matches(['"', '\'']).starts_with('$') && !value.is_empty();
        (is_plain && options::is_secret_variable(name)).then_some(name)
    });
    if script.trim().is_empty() {
        errors.add(&field, "is empty; write a script, or take it out");
    } else if script.contains('\0') {
        errors.add(&field, "holds a character NUL, which no argument can have; take it out");
    } else if count > MAX_SERVER_SCRIPT as usize {
        let message = format!("has {count} characters; write at most {MAX_SERVER_SCRIPT}, or call a file of the image");
        errors.add(&field, &message);
    } else if let Some(name) = secret {
        let message = format!(
            "sets {}, a secret that every report would show; take it out; in a cluster name a Secret in hubToken, and elsewhere export the variable before the run",
            quoted(name)
        );
        errors.add(&field, &message);
    }
}

fn check_text(field: &str, text: &str, errors: &mut Errors) {
    let count = text.chars().count();
    let problem = if text.contains('\0') {
        "holds a character NUL, which no argument can have; take it out".to_owned()
    } else if count > MAX_SERVER_TEXT as usize {
        format!("has {count} characters; write at most {MAX_SERVER_TEXT}, or put it into a file that the engine reads")
    } else {
        return;
    };
    errors.add(&format!("{FIELD}.{field}"), &problem);
}
