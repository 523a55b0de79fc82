//! Command lines as profiles: `guidellm run --profile kind=concurrent,streams=8`. They are split into words as a shell splits them, and the
//! words into options. Nothing is run, and no variable of a shell has a value.

use crate::problem::quoted;

/// The programs whose command lines are profiles.
const PROGRAMS: [&str; 6] = ["aiperf", "benchmark_serving.py", "guidellm", "python", "python3", "vllm"];
/// Characters that make a shell do more than run one program, where they are not quoted.
const OPERATORS: [char; 8] = ['|', '&', ';', '<', '>', '(', ')', '`'];

/// Why a text is no command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::formats) enum CommandLineError {
    #[error("has a quote {quote} that does not end, in {word}; close it")]
    OpenQuote { quote: char, word: String },
    #[error(
        "has {operator} in {word}, with which a shell does more than run one program; put the word in single quotes, or take it out"
    )]
    Operator { operator: char, word: String },
    #[error("has the word {word} where an option is expected; write --key value or --key=value")]
    NoOption { word: String },
}

/// An option of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::formats) struct CommandOption {
    /// Its name as written, without the dashes at its start.
    pub name: String,
    /// Its values: none for a bare flag; several where several words follow.
    pub values: Vec<String>,
}

/// Whether a profile is the command line of one of the harnesses: its first word is the program, which may have a path before it. Empty
/// lines and comments may come before it.
pub(crate) fn is_command_line(profile: &str) -> bool {
    let first = profile.lines().map(str::trim).find(|it| !it.is_empty() && !it.starts_with('#'));
    let word = first.and_then(|it| it.split_whitespace().next());
    word.is_some_and(|it| PROGRAMS.contains(&file_name(it)))
}

/// The last part of a path.
pub(in crate::formats) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The words of a command line. Quotes and backslashes have the meaning that a POSIX shell gives them, and `#` at the start of a word
/// begins a comment.
pub(in crate::formats) fn words(text: &str) -> Result<Vec<String>, CommandLineError> {
    let mut words = Vec::new();
    // `None` between two words.
    let mut word: Option<String> = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        None => return Err(CommandLineError::OpenQuote { quote: letter, word: quoted(word) }),
                        Some(it) if it == letter => break,
                        Some('\\') if letter == '"' => match letters.next() {
                            Some('\n') => {}
                            Some(it) if "\"\\$`".contains(it) => word.push(it),
                            Some(it) => word.extend(['\\', it]),
                            None => word.push('\\'),
                        },
                        Some(it) => word.push(it),
                    }
                }
            }
            '\\' => match letters.next() {
                // A line that goes on in the next one.
                Some('\n') => {}
                Some('\r') if letters.peek() == Some(&'\n') => drop(letters.next()),
                Some(it) => word.get_or_insert_default().push(it),
                None => {}
            },
            '#' if word.is_none() => drop(letters.by_ref().find(|it| *it == '\n')),
            it if it.is_whitespace() => words.extend(word.take()),
            operator if OPERATORS.contains(&operator) => {
                let mut word = word.unwrap_or_default();
                word.push(operator);
                word.extend(letters.take_while(|it| !it.is_whitespace()));
                return Err(CommandLineError::Operator { operator, word: quoted(&word) });
            }
            it => word.get_or_insert_default().push(it),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The options among the words after the program. The words after an option that are no options are its values; after `--key=value`
/// there are none. A negative number is a value.
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

/// The part of an option after its dashes; `None` for a value.
fn option(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    name.starts_with(|it: char| it.is_ascii_alphabetic()).then_some(name)
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
    fn a_command_line_begins_with_its_program() {
        for text in ["guidellm run", "# ours\n\n  vllm bench serve", "aiperf\nprofile", "/usr/bin/vllm bench serve"] {
            assert!(is_command_line(text), "{text}");
        }
        for text in ["guidellm: run", "spec: {}", "", "# vllm bench", "echo guidellm run"] {
            assert!(!is_command_line(text), "{text}");
        }
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
