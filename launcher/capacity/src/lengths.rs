//! Computes the mean lengths of a stage's prompts and answers. Pure.

use workload_profiles::{
    Workload,
    workload::{
        DataSet, LengthDistribution, Load, OutputLength, PromptText, RequestSource, Shape, Stage, Trace, TraceEntry,
    },
};

use crate::server::DEFAULT_TOKENS;

/// Assumed prompt length, in tokens, if the request source does not define it.
const MOCK_PROMPT: u32 = 4;

/// Returns the requests of a trace that is replayed; `None` for any other load, and if they are in a file that was not read.
pub(super) fn recorded(load: &Load) -> Option<&[TraceEntry]> {
    let Load::Trace { trace: Trace::Inline(entries), count, .. } = load else { return None };
    let most = count.map_or(entries.len(), |it| usize::try_from(it).unwrap_or(usize::MAX));
    Some(&entries[..most.min(entries.len())])
}

/// Returns the request source of a stage. If the trace contains recorded lengths, these replace the lengths of the workload.
pub(super) fn requests(workload: &Workload, stage: &Stage) -> RequestSource {
    let mut requests = workload.requests.clone();
    let (Load::Trace { lengths: true, .. }, Some(entries)) = (&stage.load, recorded(&stage.load)) else {
        return requests;
    };
    let fixed = |of: fn(&TraceEntry) -> Option<u32>, other| {
        let any = entries.iter().any(|it| of(it).is_some());
        let sum: u64 = entries.iter().map(|it| u64::from(of(it).unwrap_or(other))).sum();
        // The conversion cannot fail, because the mean of 32-bit numbers fits into 32 bits.
        let mean = u32::try_from(sum / entries.len().max(1) as u64).unwrap_or(u32::MAX);
        any.then(|| LengthDistribution::fixed(mean.max(1)))
    };
    let answers = fixed(|it| it.output, mean_output(&requests));
    match &mut requests {
        RequestSource::Random { input, output, .. } => {
            *input = fixed(|it| it.input, mean(input)).unwrap_or_else(|| input.clone());
            *output = answers.unwrap_or_else(|| output.clone());
        }
        // These sources do not use recorded prompt lengths.
        RequestSource::SharedPrefix { output_len, .. } => *output_len = answers.unwrap_or_else(|| output_len.clone()),
        RequestSource::DataSet(set) => {
            if let Some(answers) = &answers {
                set.output = OutputLength::Fixed(mean(answers));
            }
        }
        RequestSource::Conversations(conversations) => {
            conversations.turn.output = answers.unwrap_or_else(|| conversations.turn.output.clone());
        }
        RequestSource::TraceBlocks { .. } | RequestSource::Recorded(_) | RequestSource::Questions(_) => {}
        RequestSource::Mock => {
            if let Some(output) = answers {
                let input = LengthDistribution::fixed(MOCK_PROMPT);
                requests = RequestSource::random(input, output, PromptText::Words);
            }
        }
    }
    requests
}

/// Returns the mean output length, in tokens.
pub(super) fn mean_output(requests: &RequestSource) -> u32 {
    match requests {
        RequestSource::Random { output, .. } => mean(output),
        RequestSource::SharedPrefix { output_len, .. } => mean(output_len),
        RequestSource::Conversations(conversations) => mean(&conversations.turn.output),
        RequestSource::DataSet(DataSet { output: OutputLength::Fixed(output), .. }) => *output,
        RequestSource::Questions(questions) => questions.max_tokens,
        RequestSource::Mock
        | RequestSource::DataSet(_)
        | RequestSource::TraceBlocks { .. }
        | RequestSource::Recorded(_) => DEFAULT_TOKENS,
    }
}

/// Returns the mean of a distribution, limited to its bounds.
fn mean(lengths: &LengthDistribution) -> u32 {
    let mean = match lengths.shape {
        Shape::Uniform => f64::from(lengths.min).midpoint(f64::from(lengths.max)),
        _ => lengths.mean,
    };
    // The cast cannot overflow. A length is at least 1.
    (mean.round() as u32).clamp(lengths.min.max(1), lengths.max.max(1))
}

#[cfg(test)]
mod tests {
    use crds::units::Span;

    use super::*;
    use crate::loads;

    #[test]
    fn recorded_lengths_outweigh_those_of_the_source() {
        let fixed = LengthDistribution::fixed;
        let (input, output, text) = (fixed(10), fixed(191), PromptText::Words);
        let random = RequestSource::random(input, output, text);
        let prefix = RequestSource::SharedPrefix {
            groups: 1,
            prompts_per_group: 1,
            system_prompt_len: fixed(9),
            question_len: fixed(9),
            output_len: fixed(191),
            seed: None,
            multi_turn: false,
        };
        let check = |source: &RequestSource, recorded: &[(Option<u32>, Option<u32>)], lengths, (prompt, answer)| {
            let entry = |(input, output): &(_, _)| TraceEntry { at: Span::default(), input: *input, output: *output };
            let trace = Trace::Inline(recorded.iter().map(entry).collect());
            let load = Load::Trace { trace, speed: 1.0, count: None, lengths, max_concurrency: None };
            let workload = Workload { requests: source.clone(), ..loads::closed(1, 1, 1) };
            let found = requests(&workload, &Stage::new("s", load));
            assert_eq!(mean_output(&found), answer);
            let input = if let RequestSource::Random { input, .. } = &found { Some(mean(input)) } else { None };
            assert_eq!(input, prompt);
        };
        let both = [(Some(7), Some(100)), (Some(9), None)];
        check(&random, &both, true, (Some(8), 145));
        check(&random, &both, false, (Some(10), 191));
        check(&random, &[(None, None)], true, (Some(10), 191));
        check(&random, &[], true, (Some(10), 191));
        check(&prefix, &both, true, (None, 145));
        check(&RequestSource::Mock, &both, true, (Some(MOCK_PROMPT), (100 + DEFAULT_TOKENS) / 2));
        check(&RequestSource::Mock, &[(None, None)], true, (None, DEFAULT_TOKENS));
    }

    #[test]
    fn a_mean_length_keeps_to_its_bounds() {
        let check = |shape, (min, max), of| {
            let std_dev = 0.0;
            mean(&LengthDistribution { shape, min, max, mean: of, std_dev, total_count: None })
        };
        assert_eq!(check(Shape::Normal, (1, 100), 40.4), 40);
        assert_eq!(check(Shape::Normal, (50, 100), 40.0), 50);
        assert_eq!(check(Shape::Uniform, (10, 30), 0.0), 20);
        assert_eq!(check(Shape::Fixed, (0, 0), 0.0), 1);
    }
}
