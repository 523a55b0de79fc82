//! Synthetic conversations of several turns.

use crds::units::Seed;

use super::prefixes;
use crate::{
    formats::common::{
        bounds::{MAX_PROMPTS, MAX_TOKENS, MAX_TURNS},
        prompts::{NormalMean, numbers, required_length},
        times::times,
    },
    reader::Section,
    workload::{Conversations, History, RequestSource, TurnLengths},
};

/// Reads the section `conversations`; Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section) -> Option<RequestSource> {
    section.require("turns", "write the number of turns, or {mean: 5, stdDev: 2, min: 1, max: 20}");
    section.require("turn", "write the lengths of a turn, such as {input: 100, output: 200}");
    let count = section.count_u32("count", 1..=MAX_PROMPTS);
    let turns = numbers(&section, "turns", NormalMean::Anywhere, 1..=MAX_TURNS);
    let prefixes = prefixes::read(&section);
    let own_system = numbers(&section, "ownSystem", NormalMean::Anywhere, 0..=MAX_TOKENS);
    let first_turn = section.section("firstTurn").and_then(turn);
    let turn = section.section("turn").and_then(turn);
    let think_time = times(&section, "thinkTime");
    let histories = [("answers", History::Answers), ("nothing", History::Nothing)];
    let history = section.or_default("history", History::default(), |it, key| it.choice(key, &histories));
    let max_context = section.count_u32("maxContext", 1..=MAX_TOKENS);
    let seed = section.seed("seed").map(Seed);
    section.finish();
    Some(RequestSource::Conversations(Box::new(Conversations {
        count,
        turns: turns?,
        prefixes: prefixes?,
        own_system,
        first_turn,
        turn: turn?,
        think_time,
        history: history?,
        max_context,
        seed,
    })))
}

fn turn(section: Section) -> Option<TurnLengths> {
    let input = required_length(&section, "input", NormalMean::Anywhere);
    let output = required_length(&section, "output", NormalMean::Anywhere);
    section.finish();
    Some(TurnLengths { input: input?, output: output? })
}
