//! Command lines as profiles: `guidellm run --profile kind=concurrent,streams=8`. The text is split into words like in a shell, and the words into
//! options. Nothing is run, and shell variables have no values.

use crds::wording::shell_word;

use super::shell::{Shell, ShellError};
use crate::problem::{named, quoted, suggestion};

/// The reason why a text is not a valid command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::formats) enum CommandLineError {
    #[error(transparent)]
    Shell(#[from] ShellError),
    #[error("has the word {word} where an option is expected; write --key value or --key=value")]
    NoOption { word: String },
}

/// An option of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::formats) struct CommandOption {
    /// The name of the option as written, without the dashes at its start.
    pub name: String,
    /// The values of the option: empty for a bare flag; several values if several words follow.
    pub values: Vec<String>,
}

/// The last part of a path.
pub(in crate::formats) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Splits a command line into words.
pub(in crate::formats) fn words(text: &str) -> Result<Vec<String>, CommandLineError> {
    let mut shell = Shell::new(text);
    let mut words = Vec::new();
    while let Some(more) = shell.next_command()? {
        words.extend(more);
    }
    Ok(words)
}

/// Returns the options among the words after the program. All words between two options are values of the first of them. An option written as
/// `--key=value` takes no further values. A negative number is a value, not an option.
pub(in crate::formats) fn options(words: &[String]) -> Result<Vec<CommandOption>, CommandLineError> {
    let mut options: Vec<CommandOption> = Vec::new();
    let mut takes_values = false;
    for word in words {
        if let Some(option) = option(word) {
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option, None),
            };
            takes_values = value.is_none();
            options.push(CommandOption { name: name.to_owned(), values: value.into_iter().collect() });
        } else {
            let last = options.last_mut().filter(|_| takes_values);
            let Some(last) = last else { return Err(CommandLineError::NoOption { word: quoted(word) }) };
            last.values.push(word.clone());
        }
    }
    Ok(options)
}

/// Returns an option's name without its dashes. `None` if the word is a value.
fn option(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    name.starts_with(|it: char| it.is_ascii_alphabetic()).then_some(name)
}

/// Returns the command line with a new value for one option. The value `none` means an option without a value. A missing option is added if its name
/// is in `known`.
///
/// # Errors
/// Returns a message about the option's name.
pub(crate) fn with_option(line: &str, key: &str, value: &str, known: &[&str]) -> Result<String, String> {
    let words = words(line).map_err(|it| it.to_string())?;
    let start = words.iter().position(|it| option(it).is_some()).unwrap_or(words.len());
    let mut options = options(&words[start..]).map_err(|it| it.to_string())?;
    let plain = |name: &str| name.trim_start_matches('-').replace('_', "-");
    let name = plain(key);
    let found = options.iter().position(|it| plain(&it.name) == name);
    let has_several = found.is_some_and(|at| options[at].values.len() > 1);
    let values = match value {
        "none" => Vec::new(),
        list if has_several => list.split_whitespace().map(str::to_owned).collect(),
        one => vec![one.to_owned()],
    };
    match found {
        Some(at) => {
            options[at].values = values;
            let kept = options[at].name.clone();
            let mut index = 0;
            // If the option appears several times, keep only the first.
            options.retain(|it| {
                index += 1;
                index <= at + 1 || it.name != kept
            });
        }
        None if known.contains(&name.as_str()) => options.push(CommandOption { name, values }),
        None => {
            let parent = name.split(['.', '[']).next().unwrap_or_default();
            if options.iter().any(|it| plain(&it.name) == parent) && parent != name {
                return Err(format!("is a part of the option --{parent}; write the whole value of {}", named(parent)));
            }
            let names: Vec<String> = options.iter().map(|it| plain(&it.name)).collect();
            let all = names.iter().map(String::as_str).chain(known.iter().copied());
            return Err(format!("is no option of the command line; {}", suggestion(&name, all)));
        }
    }
    let options = options.iter().flat_map(|it| {
        // Write a value that begins with a dash, such as a negative number, as `--key=value`. Otherwise it would be read as an option.
        let joined = it.values.len() == 1 && it.values[0].starts_with('-');
        let first = if joined { format!("--{}={}", it.name, it.values[0]) } else { dashed(&it.name) };
        [first].into_iter().chain(it.values.iter().filter(move |_| !joined).cloned())
    });
    let all: Vec<String> = words[..start].iter().cloned().chain(options).map(|it| shell_word(&it)).collect();
    Ok(all.join(" "))
}

/// A name with its dashes: one dash before a single letter, else two.
fn dashed(name: &str) -> String {
    if name.len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Result<&[&str], &str>) {
        let found = words(text).map_err(|it| it.to_string());
        let expected = expected.map(|it| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }

    fn check_options(text: &str, expected: Result<&[(&str, &[&str])], &str>) {
        let found = options(&words(text).unwrap()).map_err(|it| it.to_string());
        let found = found.map(|all| all.into_iter().map(|it| (it.name, it.values)).collect::<Vec<_>>());
        let owned = |(name, values): &(&str, &[&str])| {
            ((*name).to_owned(), values.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(found, expected.map(|all| all.iter().map(owned).collect()).map_err(str::to_owned), "{text}");
    }

    #[test]
    fn words_are_those_of_a_shell() {
        check("guidellm run \\\n  --rate 5", Ok(&["guidellm", "run", "--rate", "5"]));
        check("a \\\r\n b", Ok(&["a", "b"]));
        check("a'b c'\"d e\"f", Ok(&["ab cd ef"]));
        check(r#"'{"a": 1}' "{\"a\": \"\x\"}" a\ b ''"#, Ok(&[r#"{"a": 1}"#, r#"{"a": "\x"}"#, "a b", ""]));
        check("a # all of this\nb c#d", Ok(&["a", "b", "c#d"]));
        check("", Ok(&[]));
    }

    #[test]
    fn what_is_no_command_line_names_the_word() {
        check("run --data 'a b", Err("has a quote ' that does not end, in \"a b\"; close it"));
        let remedy = "with which a shell does more than run one program; put the word in single quotes, or take it out";
        check("run | tee x", Err(&format!("has | in \"|\", {remedy}")));
        check("run $(date) x", Err(&format!("has ( in \"$(date)\", {remedy}")));
    }

    #[test]
    fn options_have_values_in_every_form() {
        check_options("--a 1 --b=2 -c 3", Ok(&[("a", &["1"]), ("b", &["2"]), ("c", &["3"])]));
        check_options("--flag --goodput ttft:5 tpot:3", Ok(&[("flag", &[]), ("goodput", &["ttft:5", "tpot:3"])]));
        check_options(
            "--n -1 --m=-1 --x -.5 --y=",
            Ok(&[("n", &["-1"]), ("m", &["-1"]), ("x", &["-.5"]), ("y", &[""])]),
        );
        check_options("--data kind=a,b=c", Ok(&[("data", &["kind=a,b=c"])]));
        let remedy = "write --key value or --key=value";
        check_options("a --b", Err(&format!("has the word \"a\" where an option is expected; {remedy}")));
        check_options("--b=1 a", Err(&format!("has the word \"a\" where an option is expected; {remedy}")));
    }

    #[test]
    fn an_override_becomes_an_option() {
        let line = "vllm bench serve --request-rate 5 --goodput ttft:5 tpot:6 --ignore-eos";
        let set = |key, value| with_option(line, key, value, &["seed", "num-prompts"]);
        let with = |text: &str| Ok(format!("vllm bench serve {text}"));
        assert_eq!(set("request_rate", "20"), with("--request-rate 20 --goodput ttft:5 tpot:6 --ignore-eos"));
        assert_eq!(set("goodput", "ttft:1 tpot:2"), with("--request-rate 5 --goodput ttft:1 tpot:2 --ignore-eos"));
        assert_eq!(set("seed", "-1"), with("--request-rate 5 --goodput ttft:5 tpot:6 --ignore-eos --seed=-1"));
        assert_eq!(
            set("num-prompt", "5"),
            Err("is no option of the command line; did you mean num-prompts?".to_owned())
        );
        assert_eq!(
            with_option("guidellm run --data a=1 --data b=2 --profile kind=constant,rate=5", "profile.rate", "9", &[]),
            Err("is a part of the option --profile; write the whole value of profile".to_owned())
        );
        assert_eq!(
            with_option("guidellm run --data a --data b", "data", "c d", &[]),
            Ok("guidellm run --data 'c d'".to_owned())
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_grow(text in "[-a=\\\\'\"# \n|\\PC]{0,60}") {
            if let Ok(words) = words(&text) {
                prop_assert!(words.iter().map(String::len).sum::<usize>() <= text.len());
                let _ = options(&words);
            }
        }
    }
}
