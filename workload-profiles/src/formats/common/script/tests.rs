use super::*;

fn check(text: &str, expected: &str) {
    assert!(is_script(text), "{text}");
    assert_eq!(command(text).as_deref(), Ok(expected), "{text}");
    // Reading the result again returns the same command.
    assert_eq!(command(expected).as_deref(), Ok(expected), "{text}");
}

fn check_error(text: &str, expected: &str) {
    assert!(is_script(text), "{text}");
    assert_eq!(command(text).unwrap_err().to_string(), expected, "{text}");
}

#[test]
fn a_script_with_one_command_is_that_command() {
    let script = "#!/bin/bash\n# ours\nset -euo pipefail\nexport HF_TOKEN=abc\nMODEL=\"org/m 1\"\nRATE=4\n\n\
                  vllm bench serve \\\n  --model \"$MODEL\" \\\n  --request-rate ${RATE} --seed '$RATE'\n";
    check(script, "vllm bench serve --model 'org/m 1' --request-rate 4 --seed '$RATE'");
    check("VLLM_USE_V1=1 vllm bench serve --num-prompts 5", "vllm bench serve --num-prompts 5");
    check("FLAGS='--num-prompts 5 --seed 1'\nvllm bench serve $FLAGS", "vllm bench serve --num-prompts 5 --seed 1");
    check("vllm bench serve\n  --num-prompts 5\n  --seed 1\n", "vllm bench serve --num-prompts 5 --seed 1");
}

#[test]
fn what_runs_the_tool_is_left_out() {
    for text in [
        "uv run vllm bench serve",
        "env A=1 vllm bench serve",
        "A=1 B=2 uv run vllm bench serve",
        "python -m vllm.entrypoints.cli.main bench serve",
    ] {
        check(text, "vllm bench serve");
    }
    check("uvx guidellm run", "guidellm run");
    check("python3 -m guidellm benchmark", "guidellm benchmark");
    check("python3.12 benchmarks/benchmark_serving.py --seed 1", "benchmarks/benchmark_serving.py --seed 1");
    check("python -m bench_serving.benchmark_serving", "bench_serving/benchmark_serving.py");
}

#[test]
fn settings_of_a_tool_stay_before_it() {
    check("A=1 GUIDELLM__X=64 guidellm run", "GUIDELLM__X=64 guidellm run");
    check("export GUIDELLM__X=64\nGUIDELLM__Y=1 guidellm run", "GUIDELLM__X=64 GUIDELLM__Y=1 guidellm run");
}

#[test]
fn what_is_not_read_is_named() {
    let beside = "write one command of aiperf, benchmark_serving.py, guidellm, vllm, and beside it only comments, set, export and NAME=value";
    check_error("#!/bin/sh\ncd /tmp\nvllm bench serve", &format!("holds the command \"cd\"; {beside}"));
    check_error(
        "vllm bench serve --seed 1\nguidellm run",
        "holds 2 commands, each of which is a load: \"vllm bench serve --seed 1\", \"guidellm run\"; keep one, and make a separate profile of each of the others",
    );
    check_error("set -e\n", "holds no command of a tool; write one of aiperf, benchmark_serving.py, guidellm, vllm");
    check_error("docker run x vllm bench serve", &format!("holds the command docker, which {CONTAINER}"));
    check_error("genai-perf profile -m x", &format!("holds the command genai-perf, which {GENAI_PERF}"));
    check_error(
        "python3 benchmark_serving_multi_turn.py -m x",
        &format!("holds the command benchmark_serving_multi_turn.py, which {MULTI_TURN}"),
    );
    check_error(
        "uv run --with vllm vllm bench serve",
        "runs uv run with options of its own before the tool; write the command of the tool alone",
    );
    check_error("python -m http.server", &format!("holds the command \"http.server\"; {beside}"));
}

#[test]
fn variables_without_a_plain_value_are_refused_by_name() {
    let unset =
        "holds $MODEL, which has no value here; write MODEL=value on a line before the command, or the value itself";
    check_error("vllm bench serve --model $MODEL", unset);
    check_error("vllm bench serve --model \"x/${MODEL}\"", unset);
    let only = "and of the shell's variables only $NAME and ${NAME} are read; write the value";
    check_error("vllm bench serve --model ${MODEL:-x}", &format!("holds \"${{MODEL:-x}}\", {only}"));
    check_error("vllm bench serve $@", &format!("holds \"$@\", {only}"));
    check_error("vllm bench serve --model $1", &format!("holds \"$1\", {only}"));
    let error = command("A=$(date)\nvllm bench serve").unwrap_err().to_string();
    assert!(error.starts_with("has ( in \"A=$(date)\", with which a shell does more"), "{error}");
}

#[test]
fn variables_that_hold_each_other_are_bounded() {
    let mut text = "A0=xxxxxxxxxxxxxxxx\n".to_owned();
    for level in 1..40 {
        text.push_str(&format!("A{level}=$A{0}$A{0}\n", level - 1));
    }
    text.push_str("vllm bench serve --model $A39");
    assert_eq!(command(&text), Err(ScriptError::Shell(ShellError::TooLong)));
}

#[test]
fn a_text_that_is_no_script_is_told_apart() {
    for text in ["guidellm: run", "spec: {}", "", "# vllm bench", "echo guidellm run", "set: 1", "export: x", "- a=b"] {
        assert!(!is_script(text), "{text}");
    }
}
