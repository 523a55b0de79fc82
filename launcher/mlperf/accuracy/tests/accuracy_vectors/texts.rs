//! Compares tokens, stems, sentences, ROUGE of pairs of texts, means and rounding with the reference.

use accuracy::{
    figures,
    rouge::{self, Score, porter},
    sample::joined,
};
use serde_json::Value;

use crate::accuracy_vectors::{json_of, list, punkt_for, say, string, strings, text_of};

#[test]
fn stems_are_those_of_nltk() {
    let Some(text) = text_of("porter_nltk.tsv") else { return };
    let pairs: Vec<(&str, &str)> = text.lines().map(|it| it.split_once('\t').unwrap()).collect();
    assert!(!pairs.is_empty());
    for (word, expected) in &pairs {
        assert_eq!(porter::stem(word), *expected, "{word}");
    }
    say(&format!("porter_nltk.tsv: {} stems", pairs.len()));
}

#[test]
fn tokens_are_those_of_rouge_score() {
    let Some(file) = json_of("tokenize.json") else { return };
    let cases = list(&file, "tokenize.json");
    for case in cases {
        let text = string(&case["text"]);
        assert_eq!(rouge::tokens(text, false), strings(&case["tokens"]), "{text:?}");
        assert_eq!(rouge::tokens(text, true), strings(&case["tokens_stemmed"]), "{text:?}");
    }
    say(&format!("tokenize.json: {} texts", cases.len()));
}

#[test]
fn sentences_are_those_of_nltk() {
    let Some(file) = json_of("punkt_sentences.json") else { return };
    let Some(punkt) = punkt_for("punkt_sentences.json") else { return };
    let cases = list(&file, "punkt_sentences.json");
    for case in cases {
        let text = string(&case["text"]);
        assert_eq!(punkt.sentences(text), strings(&case["sentences"]), "{text:?}");
    }
    say(&format!("punkt_sentences.json: {} texts", cases.len()));
}

fn assert_score(found: Score, expected: &Value, about: &str) {
    let expected: Vec<f64> = list(expected, about).iter().map(|it| it.as_f64().unwrap()).collect();
    assert_eq!([found.precision, found.recall, found.f_measure], expected.as_slice(), "{about}");
}

#[test]
fn rouge_of_texts_as_they_are_is_that_of_rouge_score() {
    let Some(file) = json_of("rouge_pairs.json") else { return };
    let pairs = list(&file["pairs"], "pairs");
    for pair in pairs {
        for (key, stem) in [("stem", true), ("nostem", false)] {
            let about = format!("{} {key}", string(&pair["id"]));
            let scores = rouge::score(string(&pair["prediction"]), string(&pair["reference"]), stem);
            let expected = &pair["raw"][key];
            assert_score(scores.rouge1, &expected["rouge1"], &about);
            assert_score(scores.rouge2, &expected["rouge2"], &about);
            assert_score(scores.rouge_l, &expected["rougeL"], &about);
            assert_score(scores.rouge_lsum, &expected["rougeLsum"], &about);
        }
    }
    say(&format!("rouge_pairs.json: {} pairs as they are", pairs.len()));
}

#[test]
fn rouge_of_sentences_is_that_of_mlperf() {
    let Some(file) = json_of("rouge_pairs.json") else { return };
    let Some(punkt) = punkt_for("the path of MLPerf in rouge_pairs.json") else { return };
    let pairs = list(&file["pairs"], "pairs");
    let mut all: [Vec<f64>; 4] = Default::default();
    let mut length = 0;
    for pair in pairs {
        let about = string(&pair["id"]);
        let expected = &pair["mlperf"];
        let (prediction, reference) = (string(&pair["prediction"]), string(&pair["reference"]));
        let (predicted, wanted) = (joined(prediction, &punkt), joined(reference, &punkt));
        assert_eq!(predicted, strings(&expected["prediction_sentences"]).join("\n"), "{about}");
        assert_eq!(wanted, strings(&expected["reference_sentences"]).join("\n"), "{about}");
        assert_eq!(predicted.chars().count() as u64, expected["gen_len"].as_u64().unwrap(), "{about}");
        length += predicted.chars().count() as u64;
        let scores = rouge::score(&predicted, &wanted, true);
        let found = [scores.rouge1, scores.rouge2, scores.rouge_l, scores.rouge_lsum].map(|it| it.f_measure);
        for ((key, found), all) in ["rouge1", "rouge2", "rougeL", "rougeLsum"].iter().zip(found).zip(&mut all) {
            assert_eq!(Some(found), expected[key].as_f64(), "{about} {key}");
            all.push(found);
        }
    }
    let whole = &file["aggregate_over_all_pairs"];
    if whole.is_object() {
        for (key, all) in ["rouge1", "rouge2", "rougeL", "rougeLsum"].iter().zip(&all) {
            let text = figures::text(figures::round_4(figures::mean(all).unwrap() * 100.0));
            assert_eq!(text, string(&whole[key]), "{key}");
        }
        assert_eq!((whole["gen_len"].as_u64(), whole["gen_num"].as_u64()), (Some(length), Some(pairs.len() as u64)));
    }
    say(&format!("rouge_pairs.json: {} pairs on the path of MLPerf", pairs.len()));
}

#[test]
fn means_and_roundings_are_those_of_numpy() {
    let Some(file) = json_of("aggregate.json") else { return };
    let means = list(&file["mean_cases"], "mean_cases");
    for case in means {
        let values: Vec<f64> = list(&case["values"], "values").iter().map(|it| it.as_f64().unwrap()).collect();
        let (found, expected) = (figures::mean(&values).unwrap(), case["mean"].as_f64().unwrap());
        assert!((found - expected).abs() <= 1e-13 * expected.abs(), "{found} and {expected} of {}", values.len());
        assert_eq!(figures::text(figures::round_4(found * 100.0)), string(&case["formatted"]), "{}", values.len());
    }
    let roundings = list(&file["rounding_cases"], "rounding_cases");
    for case in roundings {
        let x = case["x"].as_f64().unwrap();
        assert_eq!(Some(figures::round_4(x)), case["numpy_round4"].as_f64(), "{x}");
        assert_eq!(Some(figures::round(x, 4)), case["python_round4"].as_f64(), "{x}");
        assert_eq!(figures::text(figures::round_4(x)), string(&case["text"]), "{x}");
    }
    let tokens = list(&file["tokens_per_sample_cases"], "tokens_per_sample_cases");
    for case in tokens {
        let share = case["gen_tok_len"].as_f64().unwrap() / case["gen_num"].as_f64().unwrap();
        assert_eq!(Some(figures::round(share, 1)), case["tokens_per_sample"].as_f64(), "{case}");
    }
    let exact = means.iter().filter(|it| {
        let values: Vec<f64> = it["values"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
        figures::mean(&values) == it["mean"].as_f64()
    });
    say(&format!(
        "aggregate.json: {} means ({} to the last bit), {} roundings, {} tokens per sample",
        means.len(),
        exact.count(),
        roundings.len(),
        tokens.len()
    ));
}
