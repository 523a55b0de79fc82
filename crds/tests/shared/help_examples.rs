//! Checks the examples in the help of a program. Each program's tests include this file by its path.

use clap::{Command, Parser};

/// Asserts three things. The help of the program and of each visible command has an example. A command's example calls this command. The program
/// accepts every example. `command` is the program's command line interface, with its name as users write it.
pub(crate) fn assert_examples_are_accepted<Program: Parser>(command: &Command) {
    let program = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let of_program = examples(command, &program);
    assert!(!of_program.is_empty(), "`{program} --help` has no example; add one as after_help");
    of_program.iter().for_each(|it| assert_accepted::<Program>(&program, it));
    for found in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let called = format!("{program} {}", found.get_name());
        let of_command = examples(found, &program);
        assert!(!of_command.is_empty(), "`{called} --help` has no example; add one as after_help");
        for example in of_command {
            assert!(example.starts_with(&called), "an example of `{called}` calls another command: {example}");
            assert_accepted::<Program>(&program, &example);
        }
    }
}

/// The command lines of the examples, which are in the text below the flags.
fn examples(command: &Command, program: &str) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines = text.lines().map(|it| it.rsplit("$ ").next().unwrap_or(it).trim());
    let calls = lines.filter(|it| it.strip_prefix(program).is_some_and(|it| it.starts_with(' ')));
    calls.map(str::to_owned).collect()
}

fn assert_accepted<Program: Parser>(program: &str, example: &str) {
    let words = shlex::split(&example[program.len()..]).unwrap_or_default();
    let arguments = words.into_iter().take_while(|it| !["|", ">"].contains(&it.as_str()));
    let parsed = Program::try_parse_from([program.to_owned()].into_iter().chain(arguments));
    let error = parsed.err().map(|it| it.to_string()).unwrap_or_default();
    assert!(error.is_empty(), "the program refuses its example `{example}`: {error}");
}
