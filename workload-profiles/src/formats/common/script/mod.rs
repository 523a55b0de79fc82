//! Scripts as profiles: one command of a known tool. The rest of the text can only contain comments, `set`, `export` and assignments.

use std::collections::BTreeMap;

use crds::wording::shell_word;

use super::{
    command_line::file_name,
    shell::{Shell, ShellError, assignment},
};
use crate::problem::quoted;

/// The tools with command lines that can be profiles.
const TOOLS: [&str; 4] = ["aiperf", "benchmark_serving.py", "guidellm", "vllm"];
/// Programs that run the program after them.
const RUNNERS: [&str; 3] = ["env", "uv", "uvx"];
/// Unsupported programs, and what to write instead.
const UNSUPPORTED: [(&str, &str); 7] = [
    ("docker", CONTAINER),
    ("podman", CONTAINER),
    ("kubectl", CONTAINER),
    ("genai-perf", GENAI_PERF),
    ("perf_analyzer", GENAI_PERF),
    ("benchmark_serving_multi_turn.py", MULTI_TURN),
    ("inference-perf", "is called with a file; make that file the profile"),
];
const CONTAINER: &str =
    "runs a container, which is not read; write the command that runs in it alone, such as vllm bench serve";
const GENAI_PERF: &str =
    "is a tool whose options are not read; write the load for its successor AIPerf, with the command aiperf profile";
const MULTI_TURN: &str = "is vLLM's benchmark of conversations, whose options are not read; write them as aiperf profile with \
                          --conversation-turn-mean, or in our own format with requests.conversations";
/// The prefix of variables that are settings of a tool: GuideLLM's.
const SETTING: &str = "GUIDELLM__";

/// The reason why a script is not a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScriptError {
    #[error(transparent)]
    Shell(#[from] ShellError),
    #[error("holds the command {program}, which {why}")]
    Unsupported { program: String, why: &'static str },
    #[error(
        "holds the command {program}; write one command of {}, and beside it only comments, set, export and NAME=value",
        TOOLS.join(", ")
    )]
    Unknown { program: String },
    #[error("runs {found} with options of its own before the tool; write the command of the tool alone")]
    Runner { found: &'static str },
    #[error(
        "holds {count} commands, each of which is a load: {commands}; keep one, and make a separate profile of each of the others"
    )]
    Several { count: usize, commands: String },
    #[error("holds no command of a tool; write one of {}", TOOLS.join(", "))]
    Nothing,
}

/// Whether a text is a command line or a script: it begins with `#!` and a shell, or its first line that is neither empty nor a comment is a command
/// or an assignment.
pub(crate) fn is_script(text: &str) -> bool {
    let is_shebang = text.lines().next().is_some_and(|it| it.starts_with("#!") && it.trim_end().ends_with("sh"));
    let first = text.lines().map(str::trim).find(|it| !it.is_empty() && !it.starts_with('#'));
    let words: Vec<&str> = first.unwrap_or_default().split_whitespace().collect();
    let begins = match words.as_slice() {
        ["set" | "export", next, ..] => !next.starts_with(':'),
        [word, ..] => {
            let name = file_name(word);
            let is_program = TOOLS.contains(&name) || RUNNERS.contains(&name) || is_python(name);
            is_program || UNSUPPORTED.iter().any(|it| it.0 == name) || assignment(word).is_some()
        }
        [] => false,
    };
    is_shebang || begins
}

/// Returns the words of the first command of a known tool, without programs such as `uv run` before it. The text can be an unrendered template, so it
/// is searched line by line.
pub(in crate::formats) fn first_tool(text: &str) -> Option<Vec<String>> {
    let commands = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    commands.filter_map(|words| tool(&words).ok()).map(|(_, words)| words).next()
}

/// Returns the command line of the one tool in a script. The tool's environment variables precede it as assignments. All words are quoted where a
/// shell requires it.
pub(crate) fn command(text: &str) -> Result<String, ScriptError> {
    let mut shell = Shell::new(text);
    let mut exported: BTreeMap<String, String> = BTreeMap::new();
    let mut tools: Vec<String> = Vec::new();
    while let Some(words) = shell.next_command()? {
        let is_export = words[0] == "export";
        if is_export || words.iter().all(|it| assignment(it).is_some()) {
            for (name, value) in words.iter().filter_map(|it| assignment(it)) {
                shell.set(name, value);
                if is_export {
                    exported.insert(name.to_owned(), value.to_owned());
                }
            }
            continue;
        }
        if words[0] == "set" {
            continue;
        }
        let (settings, words) = tool(&words)?;
        let mut all = exported.clone();
        all.extend(settings);
        let settings = all.iter().filter(|it| it.0.starts_with(SETTING)).map(|(name, value)| format!("{name}={value}"));
        let line: Vec<String> = settings.chain(words).map(|it| shell_word(&it)).collect();
        tools.push(line.join(" "));
    }
    match tools.as_slice() {
        [] => Err(ScriptError::Nothing),
        [one] => Ok(one.clone()),
        several => {
            let shown: Vec<String> = several.iter().take(3).map(|it| quoted(it)).collect();
            Err(ScriptError::Several { count: several.len(), commands: shown.join(", ") })
        }
    }
}

/// A variable that is set for one command: name and value.
type Setting = (String, String);

/// Returns the assignments before the command of a tool, and the words from the tool's name on.
fn tool(words: &[String]) -> Result<(Vec<Setting>, Vec<String>), ScriptError> {
    let mut settings = Vec::new();
    let mut rest = words;
    loop {
        let Some(first) = rest.first() else { return Err(ScriptError::Nothing) };
        let name = file_name(first);
        let runs = |skip: usize, found| match rest.get(skip) {
            Some(next) if next.starts_with('-') => Err(ScriptError::Runner { found }),
            _ => Ok(&rest[skip.min(rest.len())..]),
        };
        let next = rest.get(1).map(String::as_str);
        rest = match (name, next) {
            _ if assignment(first).is_some() => {
                settings.extend(assignment(first).map(|(name, value)| (name.to_owned(), value.to_owned())));
                &rest[1..]
            }
            ("env", _) => runs(1, "env")?,
            ("uvx", _) => runs(1, "uvx")?,
            ("uv", Some("run")) => runs(2, "uv run")?,
            (python, Some("-m")) if is_python(python) => return module(&rest[2..]).map(|it| (settings, it)),
            (python, Some(script)) if is_python(python) && script.ends_with(".py") => &rest[1..],
            (tool, _) if TOOLS.contains(&tool) => return Ok((settings, rest.to_vec())),
            (other, _) => return Err(other_program(other)),
        };
    }
}

/// Converts `python -m MODULE ...` to the command of a tool.
fn module(words: &[String]) -> Result<Vec<String>, ScriptError> {
    let Some((module, options)) = words.split_first() else { return Err(ScriptError::Nothing) };
    let program = match module.as_str() {
        "vllm" | "vllm.entrypoints.cli.main" => "vllm".to_owned(),
        "guidellm" | "guidellm.__main__" => "guidellm".to_owned(),
        "aiperf" | "aiperf.cli" => "aiperf".to_owned(),
        other if other.rsplit('.').next() == Some("benchmark_serving") => format!("{}.py", other.replace('.', "/")),
        other => return Err(other_program(other)),
    };
    Ok([program].into_iter().chain(options.iter().cloned()).collect())
}

fn other_program(name: &str) -> ScriptError {
    match UNSUPPORTED.iter().find(|it| it.0 == name) {
        Some((program, why)) => ScriptError::Unsupported { program: (*program).to_owned(), why },
        None => ScriptError::Unknown { program: quoted(name) },
    }
}

fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|it| it.chars().all(|it| it.is_ascii_digit() || it == '.'))
}

#[cfg(test)]
mod tests;
