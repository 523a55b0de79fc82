//! Checks accuracy logs and scores.

use workload_profiles::loadgen::Mode;

use super::{
    super::{
        findings::About,
        limits::Score,
        rules::Rule,
        tree::MAX_TEXT,
        truncation::{self, ELLIPSIS, HASH, MAX_LOG},
    },
    Case, Check,
};

impl Check {
    pub(super) fn accuracy(&mut self, case: &Case) {
        let folder = format!("{}/accuracy", case.results);
        if let Some(log) = self.detail(case, &folder, Mode::AccuracyOnly) {
            let file = format!("{folder}/mlperf_log_detail.txt");
            let mut about = self.findings.about(&file);
            if let Some((line, error)) = &log.first_error {
                let found = format!("{} errors, the first on line {line} ({error})", log.errors);
                about.want(false, Rule::AccuracyErrors, "is_error", found, "none");
            }
            // LoadGen has written the first of these keys since January 2026. Before that, an accuracy test always covered all samples of the
            // library, so the second key has the number.
            let keys = ["effective_accuracy_sample_count", "qsl_reported_total_count"];
            let key = keys.into_iter().find(|it| log.has(it)).unwrap_or(keys[0]);
            let wanted = case.benchmark.accuracy_samples;
            about.want(log.whole(key) == Some(wanted), Rule::AccuracySampleCount, key, log.shown(key), wanted);
        }
        let file = format!("{folder}/accuracy.txt");
        let text = match self.tree.text(&file, MAX_TEXT) {
            Ok(text) => text,
            Err(error) => {
                self.findings.fault(&file, &error, Rule::MissingFile);
                self.accuracy_log(&folder, None);
                return;
            }
        };
        let hash = truncation::hash_of(&text);
        let mut about = self.findings.about(&file);
        let told = truncation::any_hash_of(&text);
        let (rule, found) = if told.is_some() { (Rule::HashShape, told) } else { (Rule::NoHash, None) };
        let wanted = "a line with the SHA-256 of the whole accuracy log, 64 hexadecimal digits";
        about.want(hash.is_some(), rule, HASH, found.unwrap_or("no hash"), wanted);
        if case.division.bounded() {
            case.benchmark.scores.iter().for_each(|it| score(&text, it, &mut about));
        }
        self.accuracy_log(&folder, hash);
    }

    fn accuracy_log(&mut self, folder: &str, hash: Option<&str>) {
        let file = format!("{folder}/mlperf_log_accuracy.json");
        let Some(bytes) = self.wanted(&file, Rule::MissingFile) else { return };
        if bytes > MAX_LOG {
            let (found, wanted) = (format!("{bytes} bytes"), format!("{MAX_LOG} at most"));
            self.findings.add(Rule::NotTruncated, &file, "", found, wanted);
            return;
        }
        // The hash is that of the whole log, so it can be verified only if the log was not truncated.
        let whole = self.tree.text(&file, MAX_LOG).ok().filter(|it| !it.contains(ELLIPSIS));
        let found = whole.and_then(|it| truncation::truncate(it.as_bytes()).ok());
        if let (Some(found), Some(hash)) = (found, hash) {
            let met = found.hash.eq_ignore_ascii_case(hash);
            self.findings.about(&file).want(
                met,
                Rule::HashDiffers,
                "",
                found.hash,
                format!("{hash}, as accuracy.txt has it"),
            );
        }
    }
}

fn score(text: &str, score: &Score, about: &mut About<'_>) {
    let Score { key, floor, ceiling } = *score;
    let mut values = values(text, key);
    values.dedup();
    let [value] = values[..] else {
        let found = if values.is_empty() { "none".into() } else { format!("different ones: {values:?}") };
        about.want(false, Rule::ScoreMissing, key, found, format!("'{key}': and one number"));
        return;
    };
    let met = value >= floor && ceiling.is_none_or(|it| value <= it);
    let wanted = ceiling.map_or_else(|| format!("{floor} at least"), |it| format!("{floor} to {it}"));
    about.want(met, Rule::ScoreBounds, key, value, wanted);
}

/// Returns the numbers that follow `'key': `, with or without quotes.
fn values(text: &str, key: &str) -> Vec<f64> {
    let name = format!("'{key}': ");
    let values = text.match_indices(&name).map(|(at, name)| &text[at + name.len()..]);
    values
        .filter_map(|it| {
            let number = it.strip_prefix('\'').unwrap_or(it);
            let end = number.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(number.len());
            number[..end].parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_bare_numbers_after_one_blank() {
        let check = |text: &str, expected: &[f64]| assert_eq!(values(text, "rouge1"), expected, "{text}");
        check("{'rouge1': '38.7792', 'rouge2': 1}", &[38.7792]);
        check("{'rouge1': 38.7792}", &[38.7792]);
        check("{'rouge1': 38}", &[38.0]);
        check("{'rouge1':  38}", &[]);
        check("{'rouge1': np.float64(38.7)}", &[]);
        check("{\"rouge1\": 38.7}", &[]);
        check("{'rouge1': 38.7}\n{'rouge1': 39.5}", &[38.7, 39.5]);
    }
}
