//! The contents of the files for a scored run. Pure.

use serde_json::{Map, Value as Json, json};

use crate::{
    benchmark::Benchmark,
    gate::{Gate, Verdict},
    punkt,
    scorer::Outcome,
};

/// Describes from which inputs the figures were computed. Written next to the figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// SHA-256 of the whole accuracy log, in hexadecimal digits.
    pub log_sha256: String,
    /// How the texts of the answers were converted to the token ids in the log, as far as this is known.
    pub ids: String,
    /// SHA-256 of the tokenizer file.
    pub tokenizer_sha256: Option<String>,
    /// SHA-256 of the data set file.
    pub data_set_sha256: Option<String>,
    /// Whether spaces were cleaned up after decoding, see [`crate::clean_up`].
    pub clean_up: bool,
    /// Whether Punkt's tables were available, see [`punkt::FILES`].
    pub punkt: bool,
    /// Version of this program.
    pub version: String,
}

/// Returns the result line as the reference prints it: a Python dictionary, or a single figure for gpt-oss-120b. MLPerf's submission
/// checker reads the figures from this line.
pub fn result_line(outcome: &Outcome) -> String {
    let values: Vec<String> = outcome.values.iter().map(|it| format!("'{}': {}", it.key, it.text)).collect();
    let values = values.join(", ");
    if outcome.benchmark == Benchmark::GptOss120b { values } else { format!("{{{values}}}") }
}

/// Returns the content of `accuracy.txt`: the result line, and the hash of the whole log in lower-case hexadecimal digits.
pub fn accuracy_txt(outcome: &Outcome, log_sha256: &str) -> String {
    let line = result_line(outcome);
    match outcome.benchmark {
        Benchmark::GptOss120b => format!("\n\nPrinting for submission_checker:\n\n{line}\n\nhash={log_sha256}\n"),
        _ => format!("\nResults\n\n{line}\n\nhash={log_sha256}\n"),
    }
}

/// Returns the content of `rouge.json`: figures, limits, verdict and inputs. Figures are on the scale 0 to 100, as the reference prints them.
/// Exception: the root keys have the scale 0 to 1, because the runner for Llama 3.1 8B defines them so.
pub fn rouge_json(outcome: &Outcome, gate: &Gate, provenance: &Provenance) -> Json {
    let mut scores: Map<String, Json> = Map::new();
    let mut baseline = Map::new();
    for value in outcome.values.iter().filter(|it| !it.key.starts_with("gen_") && it.key != "num-samples") {
        scores.insert(value.key.into(), value.number.into());
    }
    let mut limits = Vec::new();
    for judged in &gate.limits {
        let limit = judged.limit;
        baseline.insert(limit.key.into(), limit.baseline.into());
        limits.push(json!({
            "key": limit.key,
            "value": judged.value,
            "bound": if limit.is_upper { "at most" } else { "at least" },
            "limit": limit.bound(),
            "baseline": limit.baseline,
            "factor": limit.factor,
            "passed": judged.met,
            "distance": judged.value.map(|it| if limit.is_upper { limit.bound() - it } else { it - limit.bound() }),
        }));
    }
    if baseline.contains_key("gen_len") {
        baseline.insert("gen_num".into(), outcome.benchmark.samples().into());
    }
    let (verdict, reasons) = match &gate.verdict {
        Verdict::Passed => ("passed", &[][..]),
        Verdict::Failed => ("failed", &[][..]),
        Verdict::Undecided(reasons) => ("undecided", reasons.as_slice()),
    };
    let kinds = outcome.kinds.iter().filter(|it| !it.kind.is_empty()).map(
        |it| json!({"dataset": it.kind, "total": it.total, "correct": it.correct, "not_official": it.check.open()}),
    );
    let missing = outcome.missing.iter().map(|(key, reason)| json!({"key": key, "reason": reason}));
    let whole = |key| outcome.value(key).map(|it| it as u64);
    let tables: Option<Map<String, Json>> =
        provenance.punkt.then(|| punkt::FILES.iter().map(|it| (it.name.to_owned(), it.sha256.into())).collect());
    let mut json = json!({
        "benchmark": outcome.benchmark.name(),
        "scores": scores,
        "baseline": baseline,
        "gate_multiplier": gate.limits.first().map(|it| it.limit.factor),
        "limits": limits,
        "verdict": verdict,
        "reasons": reasons,
        "not_computed": missing.collect::<Vec<_>>(),
        "datasets": kinds.collect::<Vec<_>>(),
        "run_gen_len": whole("gen_len"),
        "run_gen_num": whole("gen_num").unwrap_or(outcome.scored),
        "run_gen_tok_len": whole("gen_tok_len"),
        "samples": {
            "answered": outcome.samples,
            "wanted": outcome.benchmark.samples(),
            "lines": outcome.lines,
            "scored": outcome.scored,
            "repeated": outcome.repeated,
            "not_in_data_set": outcome.unknown,
        },
        "ids": provenance.ids,
        "clean_up_tokenization_spaces": provenance.clean_up,
        "log_sha256": provenance.log_sha256,
        "tokenizer_sha256": provenance.tokenizer_sha256,
        "data_set_sha256": provenance.data_set_sha256,
        "punkt_sha256": tables,
        "versions": {
            "benchwright": provenance.version,
            "as": "rouge_score 0.1.2, nltk 3.8.1, numpy 1.26.4, mlcommons/inference b66003e1",
        },
    });
    // These keys come from the runner for Llama 3.1 8B, and are on its scale of 0 to 1.
    for value in outcome.values.iter().filter(|it| it.key.starts_with("rouge")) {
        json[value.key] = (value.number / 100.0).into();
    }
    for judged in gate.limits.iter().filter(|it| it.limit.key.starts_with("rouge")) {
        json[format!("threshold_{}", judged.limit.key)] = (judged.limit.bound() / 100.0).into();
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{gate::judge, scorer::Value};

    fn outcome() -> Outcome {
        let value = |key, number: f64, text: &str| Value { key, number, text: text.into() };
        Outcome {
            benchmark: Benchmark::Llama3_1_8b,
            lines: 3,
            scored: 2,
            samples: 2,
            repeated: 1,
            unknown: 0,
            values: vec![value("rouge1", 40.0, "'40.0'"), value("gen_len", 12.0, "12"), value("gen_num", 2.0, "2")],
            missing: vec![("rougeLsum", "no tables")],
            kinds: Vec::new(),
        }
    }

    #[test]
    fn accuracy_txt_is_what_the_checker_reads() {
        let expected = "\nResults\n\n{'rouge1': '40.0', 'gen_len': 12, 'gen_num': 2}\n\nhash=ab12\n";
        assert_eq!(accuracy_txt(&outcome(), "ab12"), expected);
        let mut outcome = outcome();
        outcome.benchmark = Benchmark::GptOss120b;
        outcome.values = vec![Value { key: "exact_match", number: 83.13, text: "83.130".into() }];
        let expected = "\n\nPrinting for submission_checker:\n\n'exact_match': 83.130\n\nhash=ab12\n";
        assert_eq!(accuracy_txt(&outcome, "ab12"), expected);
    }

    #[test]
    fn rouge_json_has_the_scales_of_the_reference_and_of_the_runner_and_the_verdict() {
        let outcome = outcome();
        let gate = judge(&outcome, outcome.benchmark.limits(false), Some(13_368), &[]);
        let json = rouge_json(&outcome, &gate, &Provenance::default());
        assert_eq!((&json["scores"], &json["rouge1"]), (&json!({"rouge1": 40.0}), &json!(0.4)));
        assert_eq!(json["threshold_rouge1"], 0.99 * 38.7792 / 100.0);
        assert_eq!(json["baseline"]["rouge1"], 38.7792);
        assert_eq!((&json["gate_multiplier"], &json["run_gen_len"]), (&json!(0.99), &json!(12)));
        assert_eq!((&json["verdict"], &json["limits"][0]["passed"]), (&json!("undecided"), &Json::Null));
        assert_eq!(json["limits"][0]["distance"], 40.0 - 0.99 * 38.7792);
        assert_eq!(json["not_computed"][0]["key"], "rougeLsum");
        assert_eq!(json["punkt_sha256"], Json::Null);
    }
}
