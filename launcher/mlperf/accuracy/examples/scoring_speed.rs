//! Measures how long scoring MLPerf's data set of 13,368 summaries takes: `make accuracy-speed`.
//!
//! The texts are generated with the lengths of CNN/DailyMail: 60 expected words in 4 sentences, and 100 predicted words in 6 sentences. The time does
//! not include detokenizing. The argument is the number of threads, by default 2. `PUNKT_DATA` names the folder with Punkt's tables. Without these
//! tables, sentences are not split, and the program reports that.

use std::{
    env,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    time::Instant,
};

use accuracy::{
    benchmark::Benchmark,
    log::Element,
    punkt::Punkt,
    sample::Expected,
    scorer::{Answer, LogLine, Scorer},
};

/// Word endings of the generated vocabulary, which exercise the stemmer.
const ENDINGS: [&str; 12] = ["", "s", "ed", "ing", "ation", "ness", "ly", "er", "ational", "ies", "ment", "able"];
const STEMS: [&str; 16] = [
    "amber", "basin", "cedar", "delt", "ember", "fjord", "gravel", "harbor", "island", "junip", "kettl", "lantern",
    "meadow", "orchard", "pebbl", "quarr",
];

fn main() -> Result<(), Box<dyn Error>> {
    let threads = env::args().nth(1).map_or(Ok(2), |it| it.parse())?;
    let place = env::var_os("PUNKT_DATA").map_or_else(|| "target/punkt_tab/english".into(), PathBuf::from);
    let punkt = tables(&place);
    let samples = Benchmark::Llama3_1_8b.samples().unwrap_or_default();
    let expected: Vec<Expected> =
        (0..samples).map(|it| Expected { text: text(it * 2 + 1, 4, 15), ..Expected::default() }).collect();
    let log = (0..samples).map(|it| {
        let data = text(it, 6, 17).bytes().flat_map(|it| u32::from(it).to_le_bytes()).collect();
        Ok::<LogLine, io::Error>(LogLine { seq_id: it, qsl_idx: it, answer: Answer::Data(data) })
    });
    let log: Vec<_> = log.collect();
    let scorer = Scorer {
        benchmark: Benchmark::Llama3_1_8b,
        expected: &expected,
        punkt: punkt.as_ref(),
        element: Element::Int32,
        threads,
    };
    let decode = |ids: &[u32]| Ok(ids.iter().filter_map(|it| char::from_u32(*it)).collect::<String>());
    #[expect(clippy::disallowed_methods, reason = "measures this program, and no load")]
    let begin = Instant::now();
    let outcome = scorer.score(log, decode, |_| Ok(()))?;
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{samples} summaries scored in {seconds:.2} s on {threads} threads: {}",
        accuracy::files::result_line(&outcome)
    );
    Ok(())
}

fn tables(place: &Path) -> Option<Punkt> {
    let tables = Punkt::read(|name| fs::read(place.join(name)));
    tables.map_err(|error| eprintln!("NOT MEASURED: the splitting of sentences: {error}")).ok()
}

/// Generates a text of made-up words. The same seed always gives the same text.
fn text(seed: u64, sentences: usize, words: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let mut text = String::new();
    for _ in 0..sentences {
        for word in 0..words {
            let stem = STEMS[draw(STEMS.len())];
            let (first, rest) = stem.split_at(1);
            let first = if word == 0 { first.to_uppercase() } else { first.to_owned() };
            let space = if word == 0 { "" } else { " " };
            text.push_str(&format!("{space}{first}{rest}{}", ENDINGS[draw(ENDINGS.len())]));
        }
        text.push_str(". ");
    }
    text
}
