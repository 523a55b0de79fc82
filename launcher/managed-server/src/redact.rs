//! Replaces text that looks like a secret in the log and the command line of a server. Pure.

use crds::resolve::REDACTED;
pub use crds::secrets::redact;

/// A command line without secrets. If the name of an option belongs to a secret, such as `--api-key`, the value after it is also replaced.
pub fn arguments(command: &[String]) -> Vec<String> {
    let mut hide_next = false;
    command
        .iter()
        .map(|it| {
            let hidden = std::mem::take(&mut hide_next) && !it.starts_with("--");
            hide_next = names_secret(it);
            match it.split_once('=') {
                _ if hidden => REDACTED.to_owned(),
                Some((name, _)) if names_secret(name) => format!("{name}={REDACTED}"),
                _ => redact(it).into_owned(),
            }
        })
        .collect()
}

fn names_secret(option: &str) -> bool {
    let Some(name) = option.strip_prefix("--") else { return false };
    let name = name.to_ascii_lowercase().replace('_', "-");
    ["api-key", "hf-token", "hub-token", "auth-token", "access-token", "password", "secret", "token"]
        .contains(&name.as_str())
        || ["-api-key", "-password", "-secret", "-secret-key"].iter().any(|it| name.ends_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_an_option_for_a_secret_is_replaced() {
        let command =
            ["vllm", "--api-key", "abc", "--hf-token=def", "--seed", "1", "--tokenizer", "t", "--admin-api-key", "--x"];
        let shown = arguments(&command.map(str::to_owned));
        let expected = [
            "vllm",
            "--api-key",
            REDACTED,
            "--hf-token=<redacted>",
            "--seed",
            "1",
            "--tokenizer",
            "t",
            "--admin-api-key",
            "--x",
        ];
        assert_eq!(shown, expected);
    }
}
