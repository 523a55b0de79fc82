//! [I/O] Measures how fast prompts are generated with a tokenizer, compared with plain words, and how much CPU time is needed before the first
//! request.

use std::time::Duration;

use crds::units::Seed;
use tempfile::NamedTempFile;
use workload_profiles::{
    Workload,
    workload::{FileSource, LengthDistribution, PromptReuse, PromptText, RequestSource},
};

use super::setup::Bench;
use crate::{
    error::BenchError,
    figures::{Budget, Figures, count},
};
use engine::{
    issue::LoadError,
    prompt_files,
    requests::{Draft, RecordedLengths, Requests, Texts},
};

/// The default tokenizer: byte-level BPE with Llama 3's pre-tokenizer and a small vocabulary.
const TOKENIZER: &[u8] = include_bytes!("../../../tokenizer/tests/fixtures/byte-level.json");
/// Number of tokens in each prompt.
const TOKENS: u32 = 1_000;

pub(super) fn run(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let begun = clock::thread_cpu();
    let texts = texts(bench)?;
    let title = "reading the tokenizer, and the tokens of all words";
    figures.add("prompts.tokenizer", title, "ms", since(begun).as_secs_f64() * 1e3, Budget::NONE);
    let (_, first) = make(&texts, PromptText::Words, 1)?;
    figures.add("prompts.first", "the first prompt of exact length", "ms", first.as_secs_f64() * 1e3, Budget::NONE);
    let prompts = bench.scale.prompts;
    let rate = |texts: &Texts, text| {
        make(texts, text, prompts).map(|(all_exact, time)| (all_exact, prompts as f64 / time.as_secs_f64()))
    };
    for (name, text) in [("words", PromptText::Words), ("prose", PromptText::Prose)] {
        let (_, plain) = rate(&Texts::default(), text)?;
        let (all_exact, exact) = rate(&texts, text)?;
        let title = format!("{} prompts of {} tokens as {name}", count(prompts), count(TOKENS.into()));
        figures.add(&format!("prompts.{name}.plain"), &format!("{title}, by words"), "/s of CPU", plain, Budget::NONE);
        let budget = Budget::at_least(2_000.0, 10_000.0);
        figures.add(&format!("prompts.{name}.exact"), &format!("{title}, exact"), "/s of CPU", exact, budget);
        let title = format!("{title}: exact / by words");
        figures.add(&format!("prompts.{name}.ratio"), &title, "", exact / plain, Budget::at_least(0.25, 0.5));
        if !all_exact {
            figures.note(format!("{title}: some prompts do not have exactly the requested length"));
        }
    }
    Ok(())
}

/// Reads the tokenizer with the same code as a run.
fn texts(bench: &Bench) -> Result<Texts, BenchError> {
    let own = NamedTempFile::new_in(&bench.folder)?;
    std::fs::write(own.path(), TOKENIZER)?;
    let path = bench.tokenizer.clone().unwrap_or_else(|| own.path().to_owned());
    let mut workload = Workload::new(crds::benchmark_run::Api::Completions, RequestSource::Mock, Vec::new());
    workload.tokenizer = Some(FileSource::Path(path));
    Ok(prompt_files::read(&workload).map_err(LoadError::from)?.texts)
}

/// Generates prompts on this thread. Returns whether all have exactly the wanted length, and the CPU time.
fn make(texts: &Texts, text: PromptText, prompts: u64) -> Result<(bool, Duration), BenchError> {
    let lengths = LengthDistribution::fixed;
    let source = RequestSource::random(lengths(TOKENS), lengths(1), text);
    let requests = Requests::new(&source, Seed(1).into(), PromptReuse::Fresh).map_err(LoadError::from)?;
    let requests = requests.with_texts(texts.clone());
    let (begun, mut draft, mut all_exact) = (clock::thread_cpu(), Draft::default(), true);
    for number in 0..prompts {
        all_exact &= requests.write(0, number, RecordedLengths::default(), &mut draft).is_exact;
    }
    Ok((all_exact, since(begun)))
}

fn since(begun: Duration) -> Duration {
    clock::thread_cpu().saturating_sub(begun)
}
