//! Compares whole runs of the reference scripts: from the accuracy log to the result line, with real token ids.
//!
//! Data sets are pickles or JSON. If `expected_rows.json` contains the expected answers, the run is also scored with those.

use std::{collections::HashMap, fs, io::BufReader, path::Path};

use accuracy::{
    benchmark::Benchmark,
    clean_up,
    expected::{Columns, by_sample},
    files,
    log::{Element, token_ids},
    punkt::Punkt,
    sample::{Expected, Figures, SampleScore},
    scorer::{Answer, LogLine, Outcome, ScoreError, Scorer},
};
use loadgen::logs::accuracy_log::{self, ReadError};
use python_data::{Cell, pickle::Pickle};
use serde_json::Value;
use tokenizer::{Tokenizer, TokenizerConfig};

use crate::accuracy_vectors::{bytes_of, folder, json_of, list, punkt_for, say, string, text_of};

/// A tokenizer of the vectors, and whether the texts that it decodes are cleaned up.
pub(crate) struct Decoder {
    pub(crate) tokenizer: Tokenizer,
    cleans: bool,
}

impl Decoder {
    pub(crate) fn read(name: &str) -> Option<Decoder> {
        let json = text_of(&format!("tokenizers/{name}/tokenizer.json"))?;
        let config = text_of(&format!("tokenizers/{name}/tokenizer_config.json"))?;
        let cleans = TokenizerConfig::parse(config.as_bytes()).unwrap().cleans_up;
        Some(Decoder { tokenizer: Tokenizer::parse(json.as_bytes()).unwrap(), cleans })
    }

    fn decode(&self, ids: &[u32], keeps_special: bool) -> Result<String, String> {
        let text = if keeps_special { self.tokenizer.decode_all(ids) } else { self.tokenizer.decode(ids) };
        let text = text.map_err(|error| error.to_string())?;
        Ok(if self.cleans { clean_up(&text) } else { text })
    }
}

fn lines(log: &Path) -> impl Iterator<Item = Result<LogLine, ReadError>> {
    let file = fs::File::open(log).unwrap_or_else(|error| panic!("{}: {error}", log.display()));
    accuracy_log::read(BufReader::new(file))
        .map(|it| it.map(|it| LogLine { seq_id: it.seq_id, qsl_idx: it.qsl_idx, answer: Answer::Data(it.data) }))
}

fn scored(
    benchmark: Benchmark,
    log: &str,
    expected: &[Expected],
    decoder: &Decoder,
    punkt: Option<&Punkt>,
) -> (Outcome, Vec<SampleScore>) {
    let element = if log.contains("int64") { Element::Int64 } else { Element::Int32 };
    let scorer = Scorer { benchmark, expected, punkt, element, threads: 2 };
    let decode = |ids: &[u32]| decoder.decode(ids, benchmark.keeps_special_tokens());
    let mut scores = Vec::new();
    let outcome: Result<Outcome, ScoreError<ReadError>> = scorer.score(lines(&folder().path.join(log)), decode, |it| {
        scores.push(it.clone());
        Ok(())
    });
    (outcome.unwrap(), scores)
}

fn assert_line(outcome: &Outcome, file: &str) {
    let Some(expected) = text_of(file) else { return };
    assert_eq!(files::result_line(outcome), expected.trim(), "{file}");
    let whole = files::accuracy_txt(outcome, "00");
    assert!(whole.contains(&format!("\n{}\n\nhash=00\n", expected.trim())), "{whole}");
    say(&format!("{file}: the line of {} answers", outcome.scored));
}

/// Returns the expected answer of each sample, from a JSON file or a pickle.
fn rows_of(benchmark: Benchmark, file: &str) -> Option<Vec<Expected>> {
    let columns = Columns::new(benchmark, None);
    let row = |values: [Option<(usize, Value)>; 2]| {
        let values = values.each_ref().map(|it| it.as_ref().map(|(place, value)| (*place, value)));
        columns.row(values).unwrap_or_else(|problem| panic!("{file} {problem}"))
    };
    if file.ends_with(".json") {
        let json = json_of(file)?;
        let value = |of: &Value, names: &[&str]| {
            names.iter().enumerate().find_map(|(place, it)| Some((place, of.get(it)?.clone())))
        };
        let rows = list(&json, file).iter().map(|it| (None, row(columns.names().map(|names| value(it, names)))));
        return Some(by_sample(benchmark, rows.collect()));
    }
    let bytes = bytes_of(file)?;
    let pickle = Pickle::read(&bytes).unwrap_or_else(|problem| panic!("{file}: {problem}"));
    let table = pickle.table().unwrap_or_else(|problem| panic!("{file}: {problem}"));
    let places = columns
        .names()
        .map(|names| names.iter().enumerate().find_map(|(place, name)| Some((place, table.find(name)?))));
    let rows = (0..table.rows()).map(|number| {
        let Cell::Int(label) = table.label(number) else { panic!("{file}: {number}") };
        let cells = places.map(|it| it.map(|(place, column)| (place, table.get(number, column).to_json())));
        (Some(label), row(cells))
    });
    Some(by_sample(benchmark, rows.collect()))
}

#[test]
fn llama3_1_8b() {
    let Some(expected) = rows_of(Benchmark::Llama3_1_8b, "e2e/llama3.1-8b/cnn_eval.json") else { return };
    let Some(decoder) = Decoder::read("tok-bytelevel") else { return };
    let punkt = punkt_for("ROUGE-Lsum and gen_len of e2e/llama3.1-8b");
    for kind in ["int32", "int64", "partial"] {
        let log = format!("e2e/llama3.1-8b/mlperf_log_accuracy.{kind}.json");
        if text_of(&log).is_none() {
            continue;
        }
        let (outcome, _) = scored(Benchmark::Llama3_1_8b, &log, &expected, &decoder, punkt.as_ref());
        let file = format!("e2e/llama3.1-8b/expected.{kind}.txt");
        match punkt {
            Some(_) => assert_line(&outcome, &file),
            None => assert_figures_without_tables(&outcome, &file),
        }
    }
    assert_decoded("e2e/llama3.1-8b/decoded.json", &decoder);
}

/// Checks that figures that do not need sentences equal the reference's, and that the other figures are missing.
fn assert_figures_without_tables(outcome: &Outcome, file: &str) {
    let Some(expected) = text_of(file) else { return };
    for value in &outcome.values {
        let part = format!("'{}': {}", value.key, value.text);
        assert!(expected.contains(&part), "{file} has no {part}");
    }
    let missing: Vec<&str> = outcome.missing.iter().map(|(key, _)| *key).collect();
    assert_eq!(missing, ["rougeLsum", "gen_len"]);
}

pub(crate) fn ids_of(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|it| it.as_u64().unwrap() as u32).collect()
}

fn assert_decoded(file: &str, decoder: &Decoder) {
    let Some(json) = json_of(file) else { return };
    let cases = list(&json, file);
    for case in cases {
        let ids = ids_of(&case["tokens"]);
        assert_eq!(decoder.decode(&ids, false).unwrap(), string(&case["text"]), "{file}");
        if let Some(text) = case["text_no_cleanup"].as_str() {
            assert_eq!(decoder.tokenizer.decode(&ids).unwrap(), text, "{file}");
        }
    }
    say(&format!("{file}: {} texts", cases.len()));
}

#[test]
fn texts_of_tokens_are_those_of_the_python_tokenizers() {
    let Some(file) = json_of("tokenization.json") else { return };
    for (name, cases) in file.as_object().unwrap() {
        let Some(decoder) = Decoder::read(name) else { continue };
        let all = ["encode", "decode_random_ids"].into_iter().flat_map(|it| list(&cases[it], it));
        let mut count = 0;
        for case in all {
            let ids = ids_of(&case["ids"]);
            // Compares the texts as the tokenizer returns them, before they are cleaned up.
            let tokenizer = &decoder.tokenizer;
            assert_eq!(tokenizer.decode_all(&ids).unwrap(), string(&case["decoded"]), "{name} {ids:?}");
            assert_eq!(tokenizer.decode(&ids).unwrap(), string(&case["decoded_skip_special"]), "{name} {ids:?}");
            count += 1;
        }
        say(&format!("tokenization.json, {name}: {count} texts of tokens"));
    }
}

/// Scores a run whose data set is a pickle.
fn assert_pickled(benchmark: Benchmark, data_set: &str, tokenizer: &str) {
    let name = benchmark.name();
    let file = format!("e2e/{name}/{data_set}.pkl");
    let Some(expected) = rows_of(benchmark, &file) else { return };
    let Some(decoder) = Decoder::read(tokenizer) else { return };
    let Some(punkt) = punkt_for(&format!("e2e/{name}")) else { return };
    let log = format!("e2e/{name}/mlperf_log_accuracy.json");
    let (outcome, _) = scored(benchmark, &log, &expected, &decoder, Some(&punkt));
    assert_line(&outcome, &format!("e2e/{name}/expected.txt"));
}

#[test]
fn llama2_70b() {
    assert_pickled(Benchmark::Llama2_70b, "open_orca", "tok-metaspace");
}

#[test]
fn mixtral_8x7b() {
    assert_pickled(Benchmark::Mixtral8x7b, "mixtral", "tok-metaspace");
}

#[test]
fn llama3_1_405b() {
    assert_pickled(Benchmark::Llama3_1_405b, "llama3.1_405b", "tok-bytelevel");
}

/// Returns the expected answers by sample. `list` contains the scored answers in the order of the log, and `samples` their samples.
fn expected_of(list: &[Value], samples: &[u64]) -> Vec<Expected> {
    assert_eq!(list.len(), samples.len());
    let by_sample: HashMap<u64, &Value> = samples.iter().copied().zip(list).collect();
    let most = samples.iter().copied().max().unwrap_or_default();
    let text = |it: &Value| {
        it.as_str().map_or_else(|| if it.is_null() { String::new() } else { it.to_string() }, str::to_owned)
    };
    let row = |sample| {
        let row = by_sample.get(&sample);
        // If a sample has no answer, its expected answer is not needed.
        row.map_or_else(Expected::default, |it| Expected {
            text: text(&it["ground_truth"]),
            kind: text(&it["dataset"]),
            is_missing: false,
        })
    };
    (0..=most).map(row).collect()
}

#[test]
fn deepseek_r1() {
    let folder_name = "e2e/deepseek-r1";
    let Some(file) = json_of(&format!("{folder_name}/expected_rows.json")) else { return };
    let Some(decoder) = Decoder::read("tok-bytelevel") else { return };
    let log = format!("{folder_name}/mlperf_log_accuracy.json");
    let rows = list(&file, "rows");
    let mut samples = Vec::new();
    for line in lines(&folder().path.join(&log)).map(Result::unwrap) {
        if !samples.contains(&line.qsl_idx) {
            let Answer::Data(data) = &line.answer else { panic!("{line:?}") };
            let text = decoder.decode(&token_ids(data, Element::Int32).unwrap(), false).unwrap();
            // Samples that the data set lacks have no row.
            if rows.get(samples.len()).is_some_and(|it| string(&it["model_output"]) == text) {
                samples.push(line.qsl_idx);
            }
        }
    }
    let expected = expected_of(rows, &samples);
    let (outcome, scores) = scored(Benchmark::DeepseekR1, &log, &expected, &decoder, None);
    for (row, score) in rows.iter().zip(&scores) {
        let Figures::Answer { correct, extracted } = &score.figures else { panic!("{score:?}") };
        let wanted = match &row["extracted_answer"] {
            Value::Null => None,
            Value::String(it) => Some(it.clone()),
            it => Some(it.as_f64().unwrap().to_string()),
        };
        assert_eq!(*extracted, wanted, "{row}");
        assert_eq!(*correct, row["prompt_accuracy"] == 100.0, "{row}");
        assert_eq!(score.tokens, row["tok_model_output_len"].as_u64(), "{row}");
    }
    assert_line(&outcome, &format!("{folder_name}/expected.txt"));
    if let Some(expected) = rows_of(Benchmark::DeepseekR1, &format!("{folder_name}/deepseek_r1.pkl")) {
        let (outcome, _) = scored(Benchmark::DeepseekR1, &log, &expected, &decoder, None);
        assert_line(&outcome, &format!("{folder_name}/expected.txt"));
    }
}

#[test]
fn gpt_oss_120b() {
    let folder_name = "e2e/gpt-oss-120b";
    let Some(file) = json_of(&format!("{folder_name}/expected_rows.json")) else { return };
    let Some(decoder) = Decoder::read("tok-bytelevel") else { return };
    let log = format!("{folder_name}/mlperf_log_accuracy.json");
    let rows = list(&file["rows"], "rows");
    let samples: Vec<u64> = rows.iter().map(|it| it["qsl_idx"].as_u64().unwrap()).collect();
    let expected = expected_of(rows, &samples);
    let (outcome, scores) = scored(Benchmark::GptOss120b, &log, &expected, &decoder, None);
    // The reference groups its rows by data set. The scores here are in the order of the log.
    let by_sequence: HashMap<u64, &SampleScore> = scores.iter().map(|it| (it.seq_id, it)).collect();
    assert_eq!(by_sequence.len(), rows.len());
    for row in rows {
        let score = by_sequence[&row["seq_id"].as_u64().unwrap()];
        let Figures::Answer { correct, extracted } = &score.figures else { panic!("{score:?}") };
        assert_eq!(extracted.as_deref(), row["extracted_answer"].as_str(), "{row}");
        assert_eq!(Some(*correct), row["is_correct"].as_bool(), "{row}");
        assert_eq!(score.tokens, row["token_count"].as_u64(), "{row}");
    }
    assert_line(&outcome, &format!("{folder_name}/expected.txt"));
    if let Some(expected) = rows_of(Benchmark::GptOss120b, &format!("{folder_name}/reference.pkl")) {
        let (outcome, _) = scored(Benchmark::GptOss120b, &log, &expected, &decoder, None);
        assert_line(&outcome, &format!("{folder_name}/expected.txt"));
    }
}

#[test]
fn a_log_that_is_cut_is_an_error_and_no_score() {
    let Some(text) = text_of("e2e/llama3.1-8b/mlperf_log_accuracy.int32.json") else { return };
    let Some(expected) = rows_of(Benchmark::Llama3_1_8b, "e2e/llama3.1-8b/cnn_eval.json") else { return };
    let scorer = Scorer {
        benchmark: Benchmark::Llama3_1_8b,
        expected: &expected,
        punkt: None,
        element: Element::Int32,
        threads: 1,
    };
    let cut = &text.as_bytes()[..text.len() / 2];
    let lines = accuracy_log::read(cut)
        .map(|it| it.map(|it| LogLine { seq_id: it.seq_id, qsl_idx: it.qsl_idx, answer: Answer::Data(it.data) }));
    let error = scorer.score(lines, |_| Ok(String::new()), |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("is no answer (EOF while parsing"), "{error}");
}
