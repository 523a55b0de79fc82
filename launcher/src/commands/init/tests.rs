use std::io::Cursor;

use clap::Parser;
use crds::resolve::Endpoint;
use launcher::input::{LocalOptions, RunSource};

use super::*;

const FILE: &str = "benchmarkrun.yaml";

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    init: InitArgs,
}

/// Parses the arguments in a line.
fn parse(line: &str) -> Result<InitArgs, String> {
    let words = std::iter::once("init").chain(line.split_whitespace());
    Cli::try_parse_from(words).map(|it| it.init).map_err(|error| error.to_string())
}

fn answers(line: &str) -> Answers {
    parse(line).unwrap().answers()
}

/// Asks all questions, with a server that lists a model. Returns the answers, and the text on the terminal.
fn asked(lines: &str) -> (io::Result<Answers>, String) {
    let mut output = Vec::new();
    let args = parse("").unwrap();
    let served = |target: &Target| matches!(target, Target::Url(_)).then(|| "org/served".to_owned());
    let terminal = (&mut Cursor::new(lines), &mut output);
    let check = |answers: &Answers| check(answers, Path::new(FILE));
    let answers = questions::ask(&args.open_questions(), args.answers(), served, check, terminal);
    (answers, String::from_utf8(output).unwrap())
}

#[test]
fn the_default_file_reads_so() {
    let expected = r#"# A BenchmarkRun from `benchwright init`. docs/reference-fields.md explains every field.
apiVersion: benchwright.dev/v1alpha1
kind: BenchmarkRun
metadata:
  # The name of the run and of its results folder. In a cluster, each run needs a new name.
  name: concurrency-ramp
spec:
  # The server to measure: the embedded simulator, with the preset GPU, Tiny or Instant.
  # For a real server write its base URL in place of the simulator, such as url: http://localhost:8000
  target:
    simulator: {preset: GPU}
    # Requests name the model that the server serves. If it serves several models, name one:
    # model: NAME
  # The load: a profile that ships. `benchwright profiles` lists all with their variables.
  # Each number in concurrencies is a stage with this number of requests in flight.
  # duration is the time of each stage, isl and osl are the mean tokens of prompts and answers.
  harness: benchwright
  profile:
    name: concurrency_ramp
    variables:
      concurrencies: "[1, 8, 64]"
      duration: 60s
      isl: 512
      osl: 128
  # Limits that each stage must meet; docs/objectives.md has all figures. For an example, remove each # below:
  # slo:
  #   objectives:
  #   - {name: ttft-p99, metric: ttft, stat: p99, stage: "*", max: 500ms}
"#;
    assert_eq!(document::text(&answers("")), expected);
    assert_eq!(answers("--simulator"), answers(""));
    let (start, slo) = expected.split_once("  # slo:").unwrap();
    let with_example = format!("{start}{}", format!("  # slo:{slo}").replace("  # ", "  "));
    assert!(with_example.contains("\n  slo:\n    objectives:\n    - {name"), "{with_example}");
    input::check_text(&with_example, Path::new(FILE), &Rules::default()).unwrap();
}

#[test]
fn every_combination_can_be_validated_and_run() {
    let targets = ["--simulator tiny", "--url http://server:8000/llm"];
    let loads = [("--concurrency 1,8", 2), ("--rate 0.5,2,4", 3)];
    let objectives = [("", 0), ("--objective ttft.p99<=500ms --objective errorRatio<=0.01", 2)];
    let models = ["", "--model org/a:b@1"];
    for target in targets {
        for (load, stages) in loads {
            for (objectives, count) in objectives {
                for model in models {
                    let answers = answers(&format!("{target} {load} {objectives} {model} --duration 10s"));
                    assert_eq!(check(&answers, Path::new(FILE)), Ok(()), "{answers:?}");
                    let source = RunSource::Document(document::text(&answers));
                    let input = input::from_source(&source, &LocalOptions::default()).unwrap();
                    assert_eq!(input.notices, [], "{answers:?}");
                    assert_eq!(input.workload.stages.len(), stages);
                    assert_eq!(input.run.model, answers.model);
                    assert_eq!(input.run.slo.map_or(0, |it| it.objectives.len()), count);
                    match (&answers.target, &input.run.endpoint) {
                        (Target::Url(url), Endpoint::Url(found)) => assert_eq!(url, found),
                        (Target::Simulator(preset), Endpoint::Simulator(found)) => assert_eq!(*found, (*preset).into()),
                        other => panic!("{other:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn each_flag_changes_the_file() {
    for (flags, line) in [
        ("--url http://server:8000", "    url: \"http://server:8000\"\n"),
        ("--simulator instant", "    simulator: {preset: Instant}\n"),
        ("--model a\"b", "    model: \"a\\\"b\"\n"),
        ("--concurrency 4", "      concurrencies: \"[4]\"\n"),
        ("--rate 0.5,2", "      rates: \"[0.5, 2]\"\n"),
        ("--isl 16", "      isl: 16\n"),
        ("--osl 4", "      osl: 4\n"),
        ("--duration 1.5s", "      duration: 1.5s\n"),
        ("--objective ttft.p99.9<=1s", "{name: ttft-p99.9, metric: ttft, stat: p99.9, stage: \"*\", max: 1s}\n"),
        (
            "--objective requestsPerSecond>=9",
            "{name: requestsPerSecond, metric: requestsPerSecond, stage: \"*\", min: 9}\n",
        ),
    ] {
        let text = document::text(&answers(flags));
        assert!(text.contains(line), "{flags}: {text}");
        assert!(!document::text(&answers("")).contains(line), "{flags}");
    }
    assert_eq!(answers("--rate 0.5,2").load.to_string(), "rate 0.5,2 isl 512 osl 128 duration 60s");
}

#[test]
fn a_wrong_flag_is_refused_with_its_value_and_a_remedy() {
    for (flags, found, remedy) in [
        ("--simulator fast", "fast", "possible values: gpu, tiny, instant"),
        ("--concurrency 1,0", "'0' for '--concurrency", "write, for example, 1,8,64"),
        ("--rate -1", "-1", "--"),
        ("--rate=-1", "\"-1\"", "write, for example, 2,4,8"),
        ("--rate nan", "\"nan\"", "above 0"),
        ("--isl 0", "\"0\"", "from 1"),
        ("--osl many", "\"many\"", "from 1"),
        ("--duration 60", "\"60\"", "such as 60s"),
        ("--duration 0s", "\"0s\"", "above 0"),
        ("--objective ttft.p99<=5", "is \"5\"", "write a duration with its unit"),
        ("--objective ttft<=5s", "stat: is missing", "choose one of mean"),
        ("--objective errorRatio.p99<=0.1", "stat: is p99", "take stat out"),
        ("--objective tfft.p99<=5s", "\"tfft\"", "did you mean ttft?"),
        ("--objective ttft.p98<=5s", "\"p98\"", "did you mean p9"),
        ("--objective ttft.p99", "ttft.p99", "write, for example, ttft.p99<=500ms"),
        ("--simulator --url http://h", "--url", "cannot be used with"),
        ("--rate 1 --concurrency 1", "--concurrency", "cannot be used with"),
    ] {
        let error = parse(flags).map(|_| ()).unwrap_err();
        assert!(error.contains(found) && error.contains(remedy), "{flags}: {error}");
    }
    for (url, part) in [
        ("server:8000", "\"server:8000\" is no base URL; write a URL that begins with http://"),
        ("http://u:secret@h", "take the user name and password out"),
        ("unix:/run/vllm.sock", "begins with http://"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let args = parse(&format!("--url {url} --output {}", path.display())).unwrap();
        let error = run(&args).unwrap_err().to_string();
        assert!(error.starts_with("--url: ") && error.contains(part) && !error.contains("secret"), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn what_only_the_whole_file_shows_is_refused() {
    for (flags, part) in [
        ("--objective ttft.p99<=5s --objective ttft.p99<=6s", "ttft.p99 has two limits; keep one"),
        ("--objective goodputShare>=0.9", "goodput"),
        ("--concurrency 4000000000", "concurrency"),
        (&format!("--rate 1{}", ",1".repeat(32)), "rate has 33 numbers; write at most 32"),
        (&format!("--model {}", "x".repeat(300)), "spec.target.model"),
    ] {
        let problem = check(&answers(flags), Path::new(FILE)).unwrap_err();
        assert!(problem.contains(part), "{flags}: {problem}");
    }
}

#[test]
fn enter_takes_every_default() {
    let (found, shown) = asked("\n\n\n\n");
    assert_eq!(found.unwrap(), answers(""));
    for part in [
        "[simulator gpu]: ",
        "[the model that the server serves]: ",
        "[concurrency 1,8,64 isl 512 osl 128 duration 60s]: ",
        "[none]: ",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn answers_are_those_of_the_flags() {
    let (found, shown) = asked("http://server:8000\n\nrate 2, 4 isl 16 duration=5s\nttft p99 500ms, errorRatio 0.01\n");
    let flags = "--url http://server:8000 --model org/served --rate 2,4 --isl 16 --duration 5s \
                 --objective ttft.p99<=500ms --objective errorRatio<=0.01";
    assert_eq!(found.unwrap(), answers(flags));
    assert!(shown.contains("Which model [org/served]: "), "{shown}");
    let (found, _) = asked("tiny\nmine\n4,16\nrequestsPerSecond 9\n");
    let flags = "--simulator tiny --model mine --concurrency 4,16 --objective requestsPerSecond>=9";
    assert_eq!(found.unwrap(), answers(flags));
}

#[test]
fn a_wrong_answer_is_asked_again() {
    let lines = "server\nhttp://h/v1\nsimulator tiny\n\nrates 1\nrate 0\n1,8 isl\n4 osl 8\nttft 500ms\ngoodputShare 0.9\nnone\n";
    let (found, shown) = asked(lines);
    assert_eq!(found.unwrap(), answers("--simulator tiny --concurrency 4 --osl 8"));
    for part in [
        "\"server\" is no target; write the URL of a server",
        "take out /v1",
        "\"rates\" is unknown; did you mean rate?",
        "rate \"0\" is not a number above 0",
        "isl has no value; write one",
        "choose one of mean",
        "goodput",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for (question, times) in [("What to measure", 3), ("Which model", 1), ("Which load", 4), ("Which objectives", 3)] {
        assert_eq!(shown.matches(question).count(), times, "{question}: {shown}");
    }
}

#[test]
fn answers_that_end_early_are_an_error() {
    let (found, _) = asked("tiny\n\n");
    assert_eq!(found.unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_flag_answers_its_question() {
    let open = |line: &str| parse(line).unwrap().open_questions();
    assert_eq!(open(""), [Question::Target, Question::Model, Question::Load, Question::Objectives]);
    assert_eq!(open("--model m --isl 5"), [Question::Target, Question::Load, Question::Objectives]);
    assert_eq!(open("--rate 1 --objective itl.p99<=5ms"), [Question::Target, Question::Model]);
    assert_eq!(open("--simulator --model m --rate 1 --objective itl.p99<=5ms"), []);
}

#[test]
fn the_next_commands_can_be_copied() {
    let text = next_commands(Path::new("my runs/it's.yaml"));
    assert!(text.starts_with("my runs/it's.yaml\n") && text.contains(r" run -f 'my runs/it'\''s.yaml'"), "{text}");
    assert!(next_commands(Path::new(FILE)).ends_with("\n  kubectl apply -f benchmarkrun.yaml\n"));
}
