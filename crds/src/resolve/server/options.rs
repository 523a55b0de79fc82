//! Names of options: which field of the spec sets an option, which names are synonyms, and which options an engine is known to have.

use std::borrow::Cow;

use crate::server_engine::ServerEngine;

/// The field of the spec that sets an option. `None` if there is none.
pub(super) fn field_of(engine: ServerEngine, option: &str) -> Option<&'static str> {
    let row = engine.row();
    let found = row.options.of_fields.iter().find(|it| it.1 == option).map(|it| it.0);
    found.or(row.model.filter(|it| it.option == option).map(|_| "model"))
}

/// Returns why an option is refused. `None` if it is allowed.
pub(super) fn refusal(engine: ServerEngine, option: &str) -> Option<&'static str> {
    if !engine.is_known() {
        return None;
    }
    match option {
        "port" => Some("only spec.target.server.port may set the port; take the option out, and set that field"),
        "host" => Some("Benchwright chooses the address itself; take the option out"),
        "uds" => Some("Benchwright calls the server by its port; take the option out"),
        "ssl-keyfile" | "ssl-certfile" => Some("Benchwright calls the server without TLS; take the option out"),
        _ => None,
    }
}

/// Whether the value of an option is a secret. Such an option is refused, because reports would show the value.
pub(super) fn is_secret(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    let whole = ["api-key", "hf-token", "token", "password", "secret"];
    whole.contains(&option.as_str())
        || ["-api-key", "-token", "-password", "-secret"].iter().any(|it| option.ends_with(it))
}

/// Whether an environment variable with this name contains a secret.
pub(super) fn is_secret_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends = ["TOKEN", "KEY", "SECRET", "PASSWORD"];
    ends.iter().any(|it| name == *it || name.strip_suffix(it).is_some_and(|it| it.ends_with('_')))
}

/// The canonical name of an option: its long form, with dashes instead of underscores.
pub(super) fn canonical(engine: ServerEngine, written: &str) -> Cow<'_, str> {
    // Text after a dot is a key of a JSON value, and is kept unchanged.
    let (name, keys) = written.split_at(written.find('.').unwrap_or(written.len()));
    let name = name.replace('_', "-");
    let name = match name.as_str() {
        _ if !engine.is_known() => return Cow::Borrowed(written),
        "tp" | "tp-size" => "tensor-parallel-size",
        "pp" | "pp-size" => "pipeline-parallel-size",
        "dp" | "dp-size" => "data-parallel-size",
        name => engine.row().options.aliases.iter().find(|it| it.0 == name).map_or(name, |it| it.1),
    };
    Cow::Owned(format!("{name}{keys}"))
}

/// Whether this release knows an option of the engine. Unknown options are passed to the engine as well, but the report lists them.
pub(super) fn is_known(engine: ServerEngine, option: &str) -> bool {
    let options = &engine.row().options;
    let option = option.split('.').next().unwrap_or_default();
    let positive = option.strip_prefix("no-").filter(|_| options.has_negation).unwrap_or(option);
    let Some(known) = options.known else { return true };
    known.contains(&positive) || options.of_fields.iter().any(|it| it.1 == positive)
}
