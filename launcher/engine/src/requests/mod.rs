//! Generates requests: the prompt and the requested lengths of the request with a given number. Pure.
//!
//! A request depends only on seeds and on its number, or it is a row of the data set. So any worker can generate any request at any time. The lengths
//! of request i are the same in every stage, and in every run with the same seed. Its text can differ per stage and run: see [`PromptReuse`].

mod data_set_row;
mod draft;
mod error;
mod images;
mod lengths;
mod prefixes;
mod random;
mod request_lengths;
mod row_choice;
mod seeds;
mod shared_prefix;
mod text;
mod text_seed;
mod times;
mod token_ids;
mod trace_blocks;

use std::sync::Arc;

use crds::units::Seed;
use measurement::rows_used::RowsUsed;
use prompts::{Rows, source::PromptSource};
use workload_profiles::{
    Notice,
    workload::{DataSet, Images, PromptForm, PromptReuse, RequestSource},
};

use crate::trace::Blocks;
pub use draft::Draft;
pub use error::RequestsError;
use images::ImagePool;
pub(crate) use lengths::{LengthDraws, Sampler};
pub(crate) use prefixes::PrefixTexts;
use random::Random;
pub use request_lengths::{RecordedLengths, RequestedLengths};
pub(crate) use row_choice::RowChoice;
pub use seeds::Seeds;
pub(crate) use seeds::draws;
pub(crate) use shared_prefix::SharedPrefix;
pub use text::{Texts, TextsError};
pub(crate) use text_seed::{TextSeed, tokens_of, words_of};
pub use times::TimeDraws;
pub(crate) use trace_blocks::BlockTexts;
use trace_blocks::TraceBlocks;

/// Generates the requests of a workload on demand.
#[derive(Debug)]
pub struct Requests {
    source: Source,
    form: PromptForm,
    texts: Texts,
    has_messages: bool,
    images: Option<ImagePool>,
}

#[derive(Debug)]
enum Source {
    Mock,
    Random(Box<Random>),
    SharedPrefix(SharedPrefix),
    Rows(DataSet, Option<(Arc<Rows>, Arc<RowChoice>)>),
    Blocks(TraceBlocks),
    Prompts(Option<Arc<dyn PromptSource>>),
}

impl Requests {
    /// Prepares a source. A data set has no rows until [`Requests::with_rows`], and a source of questions has none until
    /// [`Requests::with_prompts`].
    ///
    /// # Errors
    /// The source has too many distinct prompts.
    pub fn new(source: &RequestSource, seeds: Seeds<'_>, prompts: PromptReuse) -> Result<Requests, RequestsError> {
        let form = source.form();
        let source = match source {
            RequestSource::Mock => Source::Mock,
            RequestSource::Random { input, output, text, prefixes } => {
                Source::Random(Box::new(Random::new([input, output], *text, prefixes, seeds, prompts)?))
            }
            RequestSource::SharedPrefix { .. } => {
                Source::SharedPrefix(SharedPrefix::from_source(source, seeds, prompts)?)
            }
            RequestSource::DataSet(set) => Source::Rows(set.clone(), None),
            // Sessions generate their own prompts.
            RequestSource::Conversations(_) => Source::Mock,
            RequestSource::TraceBlocks { block_size } => Source::Blocks(TraceBlocks::new(*block_size, seeds, prompts)),
            RequestSource::Recorded(_) => Source::Mock,
            RequestSource::Questions(_) => Source::Prompts(None),
        };
        Ok(Requests { source, form, texts: Texts::default(), has_messages: false, images: None })
    }

    /// Sets the material for texts. The default is the built-in passage for prose, and lengths in words instead of tokens.
    pub fn with_texts(self, texts: Texts) -> Requests {
        Requests { texts, ..self }
    }

    /// Sets the block hashes of each stage's trace. No effect on other sources.
    pub(crate) fn with_blocks(self, stages: Vec<Arc<Blocks>>) -> Requests {
        match self.source {
            Source::Blocks(blocks) => Requests { source: Source::Blocks(blocks.with_stages(stages)), ..self },
            _ => self,
        }
    }

    /// Sets the rows of the data set, and which row each request sends. No effect on other sources.
    pub(crate) fn with_rows(self, rows: Arc<Rows>, choice: Arc<RowChoice>) -> Requests {
        match self.source {
            Source::Rows(set, _) => Requests { source: Source::Rows(set, Some((rows, choice))), ..self },
            _ => self,
        }
    }

    /// Sets the prompts. Request i sends prompt i. No effect on other sources.
    pub(crate) fn with_prompts(self, prompts: Arc<dyn PromptSource>) -> Requests {
        match self.source {
            Source::Prompts(_) => Requests { source: Source::Prompts(Some(prompts)), ..self },
            _ => self,
        }
    }

    /// Sets the rows of the data set. Request i sends row i. No effect on other sources.
    pub fn with_samples(self, rows: Arc<Rows>) -> Requests {
        let choice = RowChoice::new(rows.len() as u64, Default::default(), Seed(0), &[]);
        self.with_rows(rows, Arc::new(choice))
    }

    /// Prepares a stage after `issued` requests of earlier stages. A data set can continue where the previous stage ended.
    pub(crate) fn begin_stage(&self, stage: usize, issued: u64) {
        if let Source::Rows(_, Some((_, choice))) = &self.source {
            choice.begin_stage(stage, issued);
        }
    }

    /// Returns how the rows of a data set were used by `issued` requests; `None` for other sources.
    pub(crate) fn rows_used(&self, issued: u64) -> Option<RowsUsed> {
        let Source::Rows(_, Some((rows, choice))) = &self.source else { return None };
        Some(RowsUsed { rows: rows.len() as u64, begun: issued, distinct: choice.distinct(issued) })
    }

    /// Returns a notice for the report if `issued` requests sent some rows more than once.
    pub(crate) fn repeats(&self, issued: u64) -> Option<Notice> {
        let Source::Rows(set, _) = &self.source else { return None };
        let RowsUsed { rows, begun, distinct } = self.rows_used(issued)?;
        let again = begun.checked_sub(distinct).filter(|it| *it > 0)?;
        let message = format!(
            "{issued} requests were sent with {distinct} distinct rows of the {rows} in {}: {again} requests repeated a row, whose prompt a server may have in its prefix cache",
            set.file.shown()
        );
        Some(Notice { path: "data set".into(), message })
    }

    /// Returns the rows of the data set, and the index of the row that a request sends; `None` for other sources.
    fn row(&self, stage: usize, number: u64) -> Option<(&Rows, u64)> {
        match &self.source {
            Source::Rows(_, Some((rows, choice))) => Some((rows, choice.row(stage, number))),
            _ => None,
        }
    }

    /// Returns the index of the row that a request sends, from 0; `None` for other sources.
    pub(crate) fn row_number(&self, stage: usize, number: u64) -> Option<u64> {
        self.row(stage, number).map(|(_, row)| row)
    }

    /// Sets whether requests contain chat messages, in which a prefix can be a separate message. The default is completions.
    pub fn with_messages(self, has_messages: bool) -> Requests {
        Requests { has_messages, ..self }
    }

    /// Generates the images of a load. This takes some seconds for hundreds of megabytes. `counts` is the number of requests per stage; 0 if it is
    /// unknown before the load.
    ///
    /// # Errors
    /// An image cannot be generated.
    pub fn with_images(
        self,
        images: &Images,
        seeds: Seeds<'_>,
        prompts: PromptReuse,
        counts: &[u64],
    ) -> Result<Requests, RequestsError> {
        let images = Some(ImagePool::new(images, seeds, prompts, counts)?);
        Ok(Requests { images, ..self })
    }

    /// Writes a request to `draft`, and returns its lengths. Recorded lengths take precedence over the source's lengths. Only random
    /// prompts can have a recorded prompt length.
    pub fn write(&self, stage: usize, number: u64, recorded: RecordedLengths, draft: &mut Draft) -> RequestedLengths {
        draft.clear();
        draft.form = self.form;
        let requested = self.write_prompt(stage, number, recorded, draft);
        if let Some(images) = self.images.as_ref().filter(|_| draft.form == PromptForm::Text) {
            images.add(stage, number, self.group(number), draft);
        }
        RequestedLengths { output: recorded.output().or(requested.output), ..requested }
    }

    /// Returns the index of the prefix that a request shares with other requests; `None` if it has no shared prefix.
    fn group(&self, number: u64) -> Option<u32> {
        match &self.source {
            Source::Random(random) => random.group(number),
            Source::SharedPrefix(prefixes) => Some(prefixes.group(number)),
            Source::Mock | Source::Blocks(_) | Source::Rows(..) | Source::Prompts(_) => None,
        }
    }

    fn write_prompt(
        &self,
        stage: usize,
        number: u64,
        recorded: RecordedLengths,
        draft: &mut Draft,
    ) -> RequestedLengths {
        match &self.source {
            Source::Mock => {
                draft.prompt.push_str("1 2 3 ");
                draft.prompt.push_str(&number.to_string());
                RequestedLengths::default()
            }
            Source::Random(random) => random.write(&self.texts, self.has_messages, (stage, number), recorded, draft),
            Source::SharedPrefix(prefixes) => prefixes.write(&self.texts, stage, number, &mut draft.prompt),
            Source::Blocks(blocks) => blocks.write(&self.texts, (stage, number), recorded, &mut draft.prompt),
            Source::Prompts(None) => RequestedLengths::default(),
            Source::Prompts(Some(prompts)) => {
                prompts.write(number, &mut draft.prompt);
                RequestedLengths { output: Some(prompts.max_tokens()), ..RequestedLengths::default() }
            }
            Source::Rows(set, _) => match self.row(stage, number) {
                Some((rows, row)) => data_set_row::write(rows, row, set, &mut draft.prompt),
                None => RequestedLengths::default(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use workload_profiles::workload::{
        LengthDistribution, PrefixBucket, PrefixChoice, PrefixPlace, Prefixes, PromptText, TokenIdRange,
    };

    use super::*;

    fn check(source: &RequestSource, seed: u64, number: u64) -> (String, RequestedLengths) {
        sent(source, Seed(seed).into(), PromptReuse::Fresh, 0, number)
    }

    fn sent(
        source: &RequestSource,
        seeds: Seeds<'_>,
        prompts: PromptReuse,
        stage: usize,
        number: u64,
    ) -> (String, RequestedLengths) {
        let mut draft = Draft::default();
        let requests = Requests::new(source, seeds, prompts).unwrap();
        let requested = requests.write(stage, number, RecordedLengths::default(), &mut draft);
        (draft.prompt, requested)
    }

    fn random(text: PromptText) -> RequestSource {
        let uniform = |min, max| LengthDistribution {
            shape: workload_profiles::workload::Shape::Uniform,
            min,
            max,
            mean: 0.0,
            std_dev: 0.0,
            total_count: None,
        };
        RequestSource::random(uniform(10, 30), uniform(5, 9), text)
    }

    #[test]
    fn a_mock_request_has_its_number_and_no_lengths() {
        assert_eq!(check(&RequestSource::Mock, 1, 42), ("1 2 3 42".into(), RequestedLengths::default()));
    }

    #[test]
    fn a_request_repeats_for_a_seed_and_differs_between_numbers() {
        for text in [PromptText::Words, PromptText::Prose, PromptText::TokenIds(TokenIdRange::default())] {
            let source = random(text);
            assert_eq!(check(&source, 1, 5), check(&source, 1, 5));
            assert_ne!(check(&source, 1, 5).0, check(&source, 1, 6).0);
            assert_ne!(check(&source, 1, 5).0, check(&source, 2, 5).0);
        }
    }

    /// Returns the texts of the first requests of two stages, in two runs.
    fn texts(source: &RequestSource, prompts: PromptReuse) -> Vec<(String, RequestedLengths)> {
        let runs = ["u-a1", "u-a2"].into_iter().flat_map(|salt| (0..2).map(move |stage| (salt, stage)));
        let of_run = |(prompt_salt, stage)| {
            let requests = Requests::new(source, Seeds { run: Seed(42), prompt_salt }, prompts).unwrap();
            (0..100).map(move |number| {
                let mut draft = Draft::default();
                let requested = requests.write(stage, number, RecordedLengths::default(), &mut draft);
                (draft.prompt, requested)
            })
        };
        runs.flat_map(of_run).collect()
    }

    /// Returns the number of distinct beginnings. A beginning is the first six words, bytes or ids.
    fn beginnings(all: &[(String, RequestedLengths)]) -> usize {
        let first = |text: &str| text.split([' ', ',']).take(6).map(str::to_owned).collect::<Vec<_>>();
        all.iter().map(|(text, _)| first(text)).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn fresh_texts_share_no_beginning_with_another_stage_or_run_and_lengths_repeat() {
        for text in [PromptText::Words, PromptText::Prose, PromptText::TokenIds(TokenIdRange::default())] {
            let fresh = texts(&random(text), PromptReuse::Fresh);
            assert_eq!(beginnings(&fresh), 400, "{text:?}");
            let repeated = texts(&random(text), PromptReuse::Repeated);
            let distinct: BTreeSet<&str> = repeated.iter().map(|it| it.0.as_str()).collect();
            assert_eq!(distinct.len(), 100, "{text:?}");
            let lengths = |all: &[(String, RequestedLengths)]| all.iter().map(|it| it.1).collect::<Vec<_>>();
            assert_eq!(lengths(&fresh), lengths(&repeated));
        }
    }

    #[test]
    fn shared_prefixes_are_those_of_the_run_unless_they_have_a_seed() {
        let source = |seed| RequestSource::SharedPrefix {
            groups: 4,
            prompts_per_group: 5,
            system_prompt_len: LengthDistribution::fixed(20),
            question_len: LengthDistribution::fixed(5),
            output_len: LengthDistribution::fixed(3),
            seed,
            multi_turn: false,
        };
        // 100 requests use 20 prompts, which are the same in both stages.
        let check = |seed, prompts, distinct, prefixes| {
            let all = texts(&source(seed), prompts);
            assert_eq!(all.iter().map(|it| &it.0).collect::<BTreeSet<_>>().len(), distinct);
            assert_eq!(beginnings(&all), prefixes);
            assert_eq!(all[..100], all[100..200]);
        };
        check(None, PromptReuse::Fresh, 40, 8);
        check(None, PromptReuse::Repeated, 20, 4);
        check(Some(Seed(7)), PromptReuse::Fresh, 20, 4);
    }

    fn with_prefixes(text: PromptText, place: PrefixPlace) -> RequestSource {
        let prefixes = Prefixes {
            buckets: vec![PrefixBucket { weight: 1.0, count: 3, tokens: 20 }],
            choice: PrefixChoice::EqualShares,
            place,
        };
        let lengths = LengthDistribution::fixed;
        RequestSource::Random { input: lengths(10), output: lengths(5), text, prefixes }
    }

    #[test]
    fn prompts_begin_with_the_prefixes_of_the_run() {
        for text in [PromptText::Words, PromptText::Prose, PromptText::TokenIds(TokenIdRange::default())] {
            let all = texts(&with_prefixes(text, PrefixPlace::Prompt), PromptReuse::Fresh);
            // Each of the two runs has three prefixes, which are the same in all stages. The prompts after the prefixes all differ.
            assert_eq!(beginnings(&all), 6, "{text:?}");
            assert_eq!(all.iter().map(|it| &it.0).collect::<BTreeSet<_>>().len(), 400, "{text:?}");
            for (prompt, requested) in &all {
                assert_eq!(requested.input, Some(30));
                if let PromptText::TokenIds(_) = text {
                    assert_eq!(serde_json::from_str::<Vec<u32>>(prompt).unwrap().len(), 30);
                }
            }
        }
    }

    #[test]
    fn a_prefix_is_a_message_of_its_own_where_there_are_messages() {
        let tokenizer = include_bytes!("../../../tokenizer/tests/fixtures/byte-level.json");
        let tokenizer = tokenizer::Tokenizer::parse(tokenizer).unwrap();
        let source = with_prefixes(PromptText::Prose, PrefixPlace::System);
        for has_messages in [false, true] {
            let requests = Requests::new(&source, Seed(1).into(), PromptReuse::Fresh).unwrap();
            let requests =
                requests.with_texts(Texts::new(None, Some(tokenizer.clone())).unwrap()).with_messages(has_messages);
            let mut draft = Draft::default();
            for number in 0..50 {
                let requested = requests.write(0, number, RecordedLengths::default(), &mut draft);
                assert_eq!((requested.input, requested.is_exact), (Some(30), true));
                let tokens = [&draft.system, &draft.prompt].map(|it| tokenizer.count(it).unwrap());
                assert_eq!(tokens, if has_messages { [20, 10] } else { [0, 30] });
            }
        }
    }

    #[test]
    fn shared_prefixes_and_questions_are_exact_together() {
        let tokenizer = include_bytes!("../../../tokenizer/tests/fixtures/metaspace.json");
        let tokenizer = tokenizer::Tokenizer::parse(tokenizer).unwrap();
        let source = RequestSource::SharedPrefix {
            groups: 4,
            prompts_per_group: 5,
            system_prompt_len: LengthDistribution::uniform(1, 40),
            question_len: LengthDistribution::uniform(1, 20),
            output_len: LengthDistribution::fixed(3),
            seed: None,
            multi_turn: false,
        };
        let requests = Requests::new(&source, Seed(1).into(), PromptReuse::Fresh).unwrap();
        let requests = requests.with_texts(Texts::new(None, Some(tokenizer.clone())).unwrap());
        let mut draft = Draft::default();
        for number in 0..20 {
            let requested = requests.write(0, number, RecordedLengths::default(), &mut draft);
            let tokens = u32::try_from(tokenizer.count(&draft.prompt).unwrap()).ok();
            assert_eq!((tokens, true), (requested.input, requested.is_exact));
        }
    }

    #[test]
    fn a_prompt_of_token_ids_has_exactly_the_asked_length() {
        let source = random(PromptText::TokenIds(TokenIdRange::new(7, 9).unwrap()));
        for number in 0..200 {
            let (text, requested) = check(&source, 3, number);
            let ids: Vec<u32> = serde_json::from_str(&text).unwrap();
            assert_eq!((ids.len(), requested.is_exact), (requested.input.unwrap() as usize, true));
            assert!(ids.iter().all(|it| (7..=9).contains(it)));
        }
        assert!(!check(&random(PromptText::Words), 3, 0).1.is_exact);
    }

    #[test]
    fn recorded_lengths_outweigh_those_of_the_source() {
        let mut draft = Draft::default();
        let requests = Requests::new(&random(PromptText::Words), Seed(1).into(), PromptReuse::Fresh).unwrap();
        let requested = requests.write(0, 5, RecordedLengths { input: 77, output: 3 }, &mut draft);
        assert_eq!((requested.input, requested.output, draft.prompt.split(' ').count()), (Some(77), Some(3), 77));
        let mock = Requests::new(&RequestSource::Mock, Seed(1).into(), PromptReuse::Fresh).unwrap();
        let requested = mock.write(0, 5, RecordedLengths { input: 77, output: 3 }, &mut draft);
        assert_eq!((requested.input, requested.output), (None, Some(3)));
    }

    #[test]
    fn a_prompt_is_as_long_as_its_request_says() {
        let source = random(PromptText::Words);
        for number in 0..200 {
            let (text, requested) = check(&source, 3, number);
            let input = requested.input.unwrap();
            assert_eq!(text.split(' ').count(), input as usize);
            assert!((10..=30).contains(&input) && (5..=9).contains(&requested.output.unwrap()));
        }
    }
}
