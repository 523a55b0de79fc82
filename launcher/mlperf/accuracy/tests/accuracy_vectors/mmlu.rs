//! Compares prompts, letters and figures of MMLU with the reference.

use accuracy::mmlu::{
    Answer, Categories, Counts, Figures, Format, LETTERS, Question, SUBJECTS, domain, from_log_probabilities,
    original_from_log_probabilities, prompt,
};
use serde_json::Value;

use crate::accuracy_vectors::{json_of, list, say, string};

#[test]
fn subjects_have_their_domains() {
    let Some(file) = json_of("mmlu_subjects.json") else { return };
    let subjects = file.as_object().unwrap();
    assert_eq!(subjects.len(), SUBJECTS.len());
    for (subject, expected) in subjects {
        let check = |categories, key: &str| {
            assert_eq!(domain(subject, categories).map(|it| it.name()), expected[key].as_str(), "{subject} {key}");
        };
        check(Categories::Original, "domain");
        check(Categories::LmEval, "domain_lm_eval");
    }
    say(&format!("mmlu_subjects.json: {} subjects", subjects.len()));
}

fn question(value: &Value) -> Question {
    let choices: Vec<String> = list(&value["choices"], "choices").iter().map(|it| string(it).to_owned()).collect();
    Question {
        text: string(&value["question"]).to_owned(),
        choices: choices.try_into().unwrap(),
        answer: value["answer"].as_u64().unwrap_or_default() as usize,
    }
}

#[test]
fn prompts_are_those_of_the_authors_and_of_the_harness() {
    let Some(file) = json_of("mmlu.json") else { return };
    let cases = list(&file["prompts"], "prompts");
    for case in cases {
        let examples: Vec<Question> = case["dev"].as_array().unwrap().iter().map(question).collect();
        for (format, key) in [(Format::Original, "prompt_hendrycks"), (Format::Harness, "prompt_harness")] {
            let found = prompt(format, string(&case["subject"]), &examples, &question(case));
            assert_eq!(found, string(&case[key]), "{key}");
        }
    }
    say(&format!("mmlu.json: {} prompts in two formats", cases.len()));
}

#[test]
fn letters_of_log_probabilities_are_those_of_the_authors() {
    let Some(file) = json_of("mmlu.json") else { return };
    let cases = list(&file["logprob_choice"], "logprob_choice");
    for case in cases {
        let top = || {
            case["top_logprobs"].as_object().unwrap().iter().map(|(token, it)| (token.as_str(), it.as_f64().unwrap()))
        };
        assert_eq!(original_from_log_probabilities(top()).to_string(), string(&case["pred_hendrycks"]), "{case}");
        // The chosen letter must appear in one of its forms, and no other letter may have a higher probability.
        let of = |letter: char| {
            let forms = ["", " ", "\u{2581}", "\u{120}"].map(|it| format!("{it}{letter}"));
            let all = top().filter(|(token, _)| forms.iter().any(|it| it == token)).map(|(_, it)| it);
            all.fold(f64::NEG_INFINITY, f64::max)
        };
        let most = LETTERS.map(of).into_iter().fold(f64::NEG_INFINITY, f64::max);
        match from_log_probabilities(top()) {
            Some(letter) => assert!(of(letter) == most && most.is_finite(), "{case}"),
            None => assert!(most.is_infinite(), "{case}"),
        }
    }
    say(&format!("mmlu.json: {} choices by log probability", cases.len()));
}

#[test]
fn figures_are_those_of_the_reference() {
    let Some(file) = json_of("mmlu.json") else { return };
    let expected = &file["aggregation"];
    let letter = |it: &Value| it.as_str().and_then(|it| it.chars().next());
    let answers: Vec<Answer> = list(&expected["rows"], "rows")
        .iter()
        .map(|row| Answer {
            subject: string(&row["subject"]).to_owned(),
            gold: letter(&row["gold"]).unwrap(),
            chosen: letter(&row["pred"]),
            ..Answer::default()
        })
        .collect();
    let figures = Figures::of(&answers, Categories::Original);
    assert_eq!(Some(figures.overall.accuracy()), expected["overall_accuracy"].as_f64());
    assert_eq!(figures.macro_accuracy(), expected["macro_subject_accuracy"].as_f64());
    assert_eq!(figures.by_subject_detail_json(), expected["by_subject"]);
    assert_eq!(figures.by_domain_detail_json(), expected["by_domain"]);
    let plain = figures.by_subject_json();
    for (subject, counts) in expected["by_subject"].as_object().unwrap() {
        assert_eq!(plain[subject], counts["accuracy"], "{subject}");
    }
    assert_eq!(figures.overall, Counts { correct: figures.overall.correct, total: answers.len() as u64 });
    say(&format!("mmlu.json: {} answers summed up", answers.len()));
}
