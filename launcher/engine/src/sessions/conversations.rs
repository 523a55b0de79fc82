//! Synthetic conversations: their texts, lengths and think times. Each value depends only on seeds and on its position. Pure.

use std::time::Duration;

use workload_profiles::workload::{Conversations as Source, History, PrefixPlace, PromptReuse};

use super::turn::{NewTurn, Opening};
use crate::requests::{LengthDraws, PrefixTexts, RequestsError, Sampler, Seeds, TextSeed, Texts, TimeDraws, tokens_of};

/// Maximum number of turns per conversation.
const MAX_TURNS: u32 = 1 << 16;

/// Generates conversations.
#[derive(Debug)]
pub(super) struct Conversations {
    turns: LengthDraws,
    prefixes: Option<PrefixTexts>,
    own_system: Option<LengthDraws>,
    first: Lengths,
    later: Lengths,
    think_time: Option<TimeDraws>,
    history: History,
    max_context: Option<u32>,
    system_texts: TextSeed,
    user_texts: TextSeed,
}

#[derive(Debug)]
struct Lengths {
    input: LengthDraws,
    output: LengthDraws,
}

impl Conversations {
    pub(super) fn new(source: &Source, seeds: Seeds<'_>, prompts: PromptReuse) -> Result<Conversations, RequestsError> {
        // If the source has its own seed, the conversations are the same in every run.
        let seed = source.seed.unwrap_or(seeds.run);
        let is_repeated = source.seed.is_some() && prompts == PromptReuse::Fresh;
        let reuse = if is_repeated { PromptReuse::Repeated } else { prompts };
        let seeds = Seeds { run: seed, ..seeds };
        let draws = |lengths, name: &str| {
            LengthDraws::new(lengths, Sampler::Plain, seed.derive(&format!("conversations/{name}")))
        };
        let texts = |name: &str, reuse| TextSeed::new(&format!("conversations/{name}-texts"), seeds, reuse);
        let first = source.first_turn.as_ref().unwrap_or(&source.turn);
        Ok(Conversations {
            turns: draws(&source.turns, "turns"),
            prefixes: PrefixTexts::new(&source.prefixes, seeds, reuse)?,
            own_system: source.own_system.as_ref().map(|it| draws(it, "system-lengths")),
            first: Lengths {
                input: draws(&first.input, "input-lengths"),
                output: draws(&first.output, "output-lengths"),
            },
            later: Lengths {
                input: draws(&source.turn.input, "input-lengths"),
                output: draws(&source.turn.output, "output-lengths"),
            },
            think_time: source
                .think_time
                .as_ref()
                .map(|it| TimeDraws::new(it, seed.derive("conversations/think-times"))),
            history: source.history,
            max_context: source.max_context,
            system_texts: texts("system", reuse),
            user_texts: texts("user", reuse),
        })
    }

    pub(super) fn turns(&self, conversation: u64) -> u32 {
        self.turns.get(conversation).clamp(1, MAX_TURNS)
    }

    /// Whether the texts of a conversation differ between stages.
    pub(super) fn differ_between_stages(&self) -> bool {
        self.user_texts.is_fresh()
    }

    pub(super) fn has_history(&self) -> bool {
        self.history == History::Answers
    }

    pub(super) fn max_context(&self) -> Option<u32> {
        self.max_context
    }

    pub(super) fn opening(&self, words: &Texts, stage: usize, conversation: u64) -> Opening {
        let mut opening = Opening::default();
        if let Some(prefixes) = &self.prefixes {
            let index = prefixes.index(conversation);
            let text = match prefixes.place() {
                PrefixPlace::System => &mut opening.system,
                PrefixPlace::Prompt => &mut opening.prefix,
            };
            prefixes.write(words, stage, index, text);
            opening.tokens = prefixes.tokens(index);
        }
        if let Some(own) = &self.own_system {
            let length = own.get(conversation);
            tokens_of(words, self.system_texts, stage, conversation, length, &mut opening.system);
            opening.tokens = opening.tokens.saturating_add(length);
        }
        opening
    }

    /// Generates a turn. Turns count from 0.
    pub(super) fn turn(&self, words: &Texts, stage: usize, conversation: u64, turn: u32) -> NewTurn {
        let place = conversation.wrapping_mul(u64::from(MAX_TURNS)).wrapping_add(u64::from(turn));
        let Lengths { input, output } = if turn == 0 { &self.first } else { &self.later };
        let length = input.get(place);
        let mut user = String::new();
        tokens_of(words, self.user_texts, stage, place, length, &mut user);
        let think_time = self.think_time.as_ref().map_or(Duration::ZERO, |it| it.get(place));
        NewTurn { user: user.into(), input: Some(length), output: Some(output.get(place)), think_time }
    }
}
