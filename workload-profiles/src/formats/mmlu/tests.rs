use std::collections::BTreeMap;

use crds::{
    benchmark_run::{Api, Harness},
    resolve::ResolvedRun,
};
use proptest::prelude::*;

use super::*;
use crate::{
    formats::hostile,
    parse_text, prepare, shipped, shipped_names,
    variables::tests::{run, with},
    workload::FileSource,
};

fn read(text: &str) -> Result<Workload, String> {
    let read = parse_text(Harness::Mmlu, Target::default(), text).map_err(|it| it.to_string())?;
    assert_eq!(read.1, []);
    hostile::check_round_trip(&read.0);
    Ok(read.0)
}

fn questions_of(text: &str) -> Questions {
    match read(text).unwrap().requests {
        RequestSource::Questions(questions) => *questions,
        other => panic!("{other:?}"),
    }
}

fn check_error(text: &str, expected: &str) {
    assert_eq!(read(text).unwrap_err(), expected, "{text}");
}

#[test]
fn what_is_left_out_is_as_the_authors_ask() {
    let workload = read("data: /data/mmlu").unwrap();
    assert_eq!((workload.api, workload.streaming, workload.model.as_deref()), (Api::Completions, true, None));
    assert_eq!(serde_json::to_string(&workload.sampling.extra).unwrap(), r#"{"temperature":0}"#);
    assert_eq!((workload.stages[0].load.count(), workload.stages[0].load.max_concurrency()), (Some(200_000), Some(16)));
    let expected = Questions {
        data: "/data/mmlu".into(),
        split: Split::Test,
        examples: None,
        shots: 5,
        max_prompt_tokens: None,
        format: QuestionFormat::Original,
        instruction: None,
        subjects: Vec::new(),
        total_limit: None,
        scoring: AnswerScoring::Logprobs(20),
        max_tokens: 1,
        domains: Domains::Original,
        min_accuracy: None,
        details: true,
    };
    assert_eq!(questions_of("data: /data/mmlu"), expected);
}

#[test]
fn every_key_is_read() {
    let text = "tokenizer: /models/m\nmaxPromptTokens: 2048\ndata: {url: 'https://h/mmlu.jsonl'}\nexamples: /dev.jsonl\nsplit: auxiliary_train\nshots: 2\nformat: harness\n\
        scoring: {logprobs: 5}\nsubjects: [anatomy, astronomy]\ntotalLimit: 100\nmaxTokens: 3\ndomains: lm-eval\ndetails: off\nminAccuracy: 0.65\n\
        concurrency: 4\nstreaming: off\napi: chat\nmodel: m\ntimeouts: {request: 60s}";
    let workload = read(text).unwrap();
    assert_eq!((workload.api, workload.streaming, workload.model.as_deref()), (Api::Chat, false, Some("m")));
    assert_eq!(workload.stages[0].load, Load::closed(4, 100));
    let asked = questions_of(text);
    assert_eq!(asked.examples, Some(FileSource::from("/dev.jsonl")));
    assert_eq!((asked.split, asked.shots, asked.format), (Split::AuxiliaryTrain, 2, QuestionFormat::Harness));
    assert_eq!((asked.scoring, asked.max_tokens), (AnswerScoring::Logprobs(5), 3));
    assert_eq!(asked.subjects, ["anatomy", "astronomy"]);
    assert_eq!((asked.total_limit, asked.domains, asked.details), (Some(100), Domains::LmEval, false));
    assert_eq!((asked.min_accuracy, asked.max_prompt_tokens), (Some(0.65), Some(2048)));
    assert_eq!(workload.tokenizer, Some("/models/m".into()));
}

#[test]
fn a_chat_has_an_instruction_and_is_sent_as_one() {
    let asked = questions_of("{data: d, format: chat, scoring: text}");
    assert_eq!((asked.instruction.as_deref(), asked.max_tokens), (Some(INSTRUCTION), 16));
    assert_eq!(read("{data: d, format: chat}").unwrap().api, Api::Chat);
    assert_eq!(read("{data: d, format: chat, api: completions}").unwrap().api, Api::Completions);
    assert_eq!(questions_of("{data: d, format: chat, instruction: ''}").instruction.as_deref(), Some(""));
}

#[test]
fn a_wrong_value_is_named_with_its_remedy() {
    check_error("shots: 5", "data: is missing; write the path of a file or a folder with questions, or {url: ...}");
    check_error("{data: d, shots: 6}", "shots: is 6; write a whole number from 0 to 5");
    check_error("{data: d, format: raw}", "format: is \"raw\"; choose one of original, harness and chat");
    check_error("{data: d, split: val}", "split: is \"val\"; choose one of test, validation, dev and auxiliary_train");
    check_error("{data: d, scoring: best}", "scoring: is \"best\"; choose one of logprobs and text");
    check_error("{data: d, scoring: {text: 5}}", "scoring: takes no settings for text; write scoring: text");
    check_error("{data: d, scoring: {logprobs: 0}}", "scoring.logprobs: is 0; write a whole number from 1 to 1000");
    check_error("{data: d, minAccuracy: 65}", "minAccuracy: is 65; write a number from 0 to 1");
    check_error("{data: d, totalLimit: 0}", "totalLimit: is 0; write a whole number from 1 to 200000");
    check_error(
        "{data: d, subjects: []}",
        "subjects: is an empty list; name at least one subject, or take it out for all",
    );
    check_error(
        "{data: d, subjects: [anatomy, 5, anatomy]}",
        "subjects[1]: is 5; write the name of a subject, such as anatomy\n\
         subjects[2]: is \"anatomy\", which is there twice; take one of them out",
    );
    check_error(
        "{data: d, instruction: Think.}",
        "instruction: is used only in prompts of the format chat; set format to chat, or take it out",
    );
    check_error(
        "{data: d, shots: 0, examples: e}",
        "examples: are not shown, because shots is 0; take examples out, or raise shots",
    );
    check_error(
        "{data: d, split: dev}",
        "split: is dev, whose questions are the examples; set shots to 0, or name other examples",
    );
    check_error("{data: d, shot: 0}", "shot: is no known key; did you mean shots?");
}

fn prepared(name: &str, variables: &[&str]) -> Questions {
    let run = ResolvedRun { harness: Harness::Mmlu, ..run("m") };
    let template = shipped(Harness::Mmlu, name).unwrap();
    let prepared = prepare(&run, template, &with("m", variables).unwrap(), &BTreeMap::new());
    let workload = prepared.unwrap_or_else(|error| panic!("{name}\n{error}")).workload;
    match workload.requests {
        RequestSource::Questions(questions) => *questions,
        other => panic!("{other:?}"),
    }
}

#[test]
fn shipped_profiles_ask_what_they_are_known_for() {
    assert_eq!(shipped_names(Harness::Mmlu), ["chat", "mmlu"]);
    let asked = prepared("mmlu", &[]);
    assert_eq!((asked.shots, asked.scoring, asked.total_limit), (5, AnswerScoring::Logprobs(20), None));
    let asked =
        prepared("mmlu", &["data=/d", "shots=0", "total_limit=570", "format=harness", "scoring=text", "api=chat"]);
    assert_eq!((asked.data, asked.shots), ("/d".into(), 0));
    assert_eq!((asked.total_limit, asked.format), (Some(570), QuestionFormat::Harness));
    let asked = prepared("chat", &["shots=2"]);
    assert_eq!((asked.shots, asked.format, asked.scoring), (2, QuestionFormat::Chat, AnswerScoring::Text));
}

#[test]
fn log_probabilities_need_their_api_and_tokens_their_tokenizer() {
    let run = ResolvedRun { harness: Harness::Mmlu, ..run("m") };
    let error = |text: &str| prepare(&run, text, &with("m", &[]).unwrap(), &BTreeMap::new()).unwrap_err().to_string();
    assert_eq!(
        error("{data: d, api: messages}"),
        "scoring: is logprobs, but api is messages, which gives no log probabilities; set api to completions or chat, or scoring to text"
    );
    assert_eq!(
        error("{data: d, maxPromptTokens: 2048}"),
        "maxPromptTokens: counts tokens, and no tokenizer is named; write the path of the model's tokenizer.json in tokenizer"
    );
}

const PROFILE: &str = "data: d\nsplit: dev\nshots: 2\nformat: chat\ninstruction: x\nscoring: {logprobs: 5}\n\
    subjects: [anatomy]\ntotalLimit: 100\nmaxTokens: 3\ndomains: lm-eval\ndetails: true\nconcurrency: 4\napi: chat\n";

proptest! {
    #[test]
    fn no_text_makes_it_panic(share in 0.0..1.0_f64, line in 0_usize..13, value in prop::sample::select(&hostile::VALUES[..])) {
        hostile::check(Harness::Mmlu, hostile::cut(PROFILE, share));
        let lines = PROFILE.lines().enumerate().map(|(at, it)| match it.split_once(':') {
            Some((key, _)) if at == line => format!("{key}: {value}\n"),
            _ => format!("{it}\n"),
        });
        hostile::check(Harness::Mmlu, &lines.collect::<String>());
    }
}
