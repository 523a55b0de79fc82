//! Decides which rows are sent, which part of each row, and in which order. Pure.

use std::collections::BinaryHeap;

use crds::units::Seed;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use workload_profiles::workload::{
    ConversationUse, DataSet, LengthFilter, OutputLength, PromptForm, RowContent, RowOrder,
};

use super::{
    chats::Chats,
    conversation::{self, Message, Speaker},
    row::Row,
};
use prompts::{Rows, Turn, token_count::TokenCount};

/// The settings that decide which rows are selected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'a> {
    pub(super) set: &'a DataSet,
    /// The seed of the order.
    pub(super) seed: Seed,
    /// Maximum number of rows that the load can send; `None` if there is no maximum.
    pub(super) most: Option<u64>,
    pub(super) reading: Reading<'a>,
    /// Maximum bytes of memory for all rows.
    pub(super) most_bytes: usize,
}

/// The tools for processing texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    /// Counts the tokens of texts.
    pub(super) tokens: &'a TokenCount,
    /// Renders the rows; `None` if they are sent unchanged.
    pub(super) chats: Option<&'a Chats>,
}

/// The rows that were selected so far.
pub(super) struct Selection<'a> {
    rules: Rules<'a>,
    rows: Rows,
    /// Only for a shuffled order: pairs (sort key, index of a selected row), with the largest key first.
    chosen: BinaryHeap<(u64, u32)>,
    /// Number of rows that were offered.
    offered: u64,
    /// Number of conversations without a turn to send, or without an answer that determines the requested length.
    without_turns: u64,
}

/// The part of a row that is sent.
enum Content {
    Ids,
    Text,
    /// A text that was composed from messages.
    Made(String),
    /// The messages.
    Messages(Vec<Message>),
    /// The token ids of the rendered row.
    Rendered(Vec<u32>),
    /// The system text, and each user turn with its recorded answer.
    Turns(String, Vec<(String, Option<String>)>),
}

impl<'a> Selection<'a> {
    pub(super) fn new(rules: Rules<'a>) -> Selection<'a> {
        Selection { rules, rows: Rows::default(), chosen: BinaryHeap::new(), offered: 0, without_turns: 0 }
    }

    /// Number of rows that were offered.
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    pub(super) fn without_turns(&self) -> u64 {
        self.without_turns
    }

    /// Number of rows that are selected.
    pub(super) fn len(&self) -> u64 {
        match self.rules.set.order {
            RowOrder::File => self.rows.stored() as u64,
            RowOrder::Shuffled => self.chosen.len() as u64,
        }
    }

    /// Whether further rows have no effect.
    pub(super) fn is_complete(&self) -> bool {
        self.rules.set.order == RowOrder::File && self.is_full()
    }

    fn is_full(&self) -> bool {
        self.rules.most.is_some_and(|it| self.len() >= it)
    }

    /// Returns the selected rows in their final order.
    pub(super) fn into_rows(mut self) -> Rows {
        if self.rules.set.order == RowOrder::Shuffled {
            let order = std::mem::take(&mut self.chosen).into_sorted_vec();
            self.rows.set_order(order.into_iter().map(|(_, row)| row).collect());
        }
        self.rows
    }

    /// Processes the next row of the file. Selects it unless a filter or the maximum excludes it.
    ///
    /// # Errors
    /// There is no memory left for the row. Returns the problem and the remedy.
    pub(super) fn offer(&mut self, row: &mut Row) -> Result<(), String> {
        let key = self.key();
        self.offered += 1;
        // A row that cannot be selected is skipped before its tokens are counted.
        if self.is_full() && self.chosen.peek().is_some_and(|last| key >= last.0) {
            return Ok(());
        }
        let turns = row.messages.iter().filter(|it| it.speaker != Speaker::System).count();
        let filter = &self.rules.set.filter;
        if filter.min_turns.is_some_and(|it| turns < it as usize) {
            return Ok(());
        }
        let Some((content, answer)) = self.content(row) else {
            self.without_turns += 1;
            return Ok(());
        };
        let content = self.rendered(row, content)?;
        let output = self.output(row, answer.as_deref());
        if !self.passes(&content, row, output) {
            return Ok(());
        }
        self.keep(row, content, output)?;
        if self.rules.set.order == RowOrder::Shuffled {
            let place = u32::try_from(self.rows.stored() - 1).map_err(|_| "is one row too many; set a count")?;
            self.chosen.push((key, place));
            if self.rules.most.is_some_and(|it| self.chosen.len() as u64 > it) {
                self.chosen.pop();
            }
        }
        Ok(())
    }

    /// The sort key of the next row in a shuffled order.
    fn key(&self) -> u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(self.rules.seed.0);
        rng.set_stream(self.offered);
        rng.next_u64()
    }

    /// The part of a row that is sent, and its recorded answer. `None` if there is nothing to send.
    fn content(&self, row: &mut Row) -> Option<(Content, Option<String>)> {
        match &self.rules.set.row {
            RowContent::Prompt(column) => {
                let is_ids = column.form == PromptForm::TokenIds;
                Some((if is_ids { Content::Ids } else { Content::Text }, None))
            }
            RowContent::Conversation { send, .. } => self.conversation(*send, std::mem::take(&mut row.messages)),
        }
    }

    /// Renders the content with the chat template, if there is one.
    fn rendered(&self, row: &Row, content: Content) -> Result<Content, String> {
        let Some(chats) = self.rules.reading.chats else { return Ok(content) };
        let ids = match &content {
            Content::Text if row.messages.is_empty() => chats.ids_of_text(&row.text),
            Content::Text => chats.ids_of_messages(&row.text),
            Content::Made(text) => chats.ids_of_text(text),
            Content::Messages(all) => chats.ids_of_messages(&conversation::json(all)),
            // Profiles that send such content use no chat template.
            Content::Ids | Content::Rendered(_) | Content::Turns(..) => return Ok(content),
        };
        ids.map(Content::Rendered)
    }

    fn conversation(&self, send: ConversationUse, mut messages: Vec<Message>) -> Option<(Content, Option<String>)> {
        let needs_answer = self.rules.set.output == OutputLength::Answer;
        if send == ConversationUse::Turns {
            let (system, turns) = turns(messages, needs_answer);
            return (!turns.is_empty()).then_some((Content::Turns(system, turns), None));
        }
        if send == ConversationUse::FirstTurn {
            let mut turns = messages.into_iter().filter(|it| it.speaker != Speaker::System).map(|it| it.text);
            let (first, answer) = (turns.next().filter(|it| !it.is_empty())?, turns.next());
            return (!needs_answer || answer.is_some()).then_some((Content::Made(first), answer));
        }
        let answer = if send == ConversationUse::All { None } else { Some(messages.pop()?.text) };
        let says_something = messages.iter().any(|it| it.speaker != Speaker::System && !it.text.is_empty());
        let content = match send {
            ConversationUse::JoinedText => {
                Content::Made(messages.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n"))
            }
            _ => Content::Messages(messages),
        };
        says_something.then_some((content, answer))
    }

    /// The requested length of the answer, at least 1.
    fn output(&self, row: &Row, answer: Option<&str>) -> Option<u32> {
        let tokens = match &self.rules.set.output {
            OutputLength::Fixed(tokens) => Some(*tokens),
            OutputLength::Column(_) => row.output,
            OutputLength::TextOf(_) => Some(self.rules.reading.tokens.count(&row.answer)),
            OutputLength::Answer => answer.map(|it| self.rules.reading.tokens.count(it)),
            OutputLength::Unbounded => None,
        };
        tokens.map(|it| it.max(1))
    }

    fn passes(&self, content: &Content, row: &Row, output: Option<u32>) -> bool {
        let LengthFilter { min_input, max_input, min_output, max_output, max_total, min_turns: _ } =
            self.rules.set.filter;
        let within = |tokens: u32, min: Option<u32>, max: Option<u32>| {
            min.is_none_or(|it| tokens >= it) && max.is_none_or(|it| tokens <= it)
        };
        let output = match content {
            Content::Turns(_, turns) => {
                turns.iter().filter_map(|(_, answer)| self.output(row, answer.as_deref())).reduce(u32::saturating_add)
            }
            _ => output,
        };
        if !output.is_none_or(|it| within(it, min_output, max_output)) {
            return false;
        }
        if min_input.or(max_input).or(max_total).is_none() {
            return true;
        }
        let of = |text: &str| self.rules.reading.tokens.count(text);
        let messages = |all: &[Message]| all.iter().map(|it| of(&it.text)).fold(0, u32::saturating_add);
        let tokens = |ids: &[u32]| u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let input = match content {
            Content::Ids => tokens(&row.ids),
            Content::Rendered(ids) => tokens(ids),
            Content::Text if row.messages.is_empty() => of(&row.text),
            Content::Text => messages(&row.messages),
            Content::Messages(all) => messages(all),
            Content::Made(text) => of(text),
            Content::Turns(system, turns) => turns.iter().map(|it| of(&it.0)).fold(of(system), u32::saturating_add),
        };
        let total = input.saturating_add(output.unwrap_or_default());
        within(input, min_input, max_input) && max_total.is_none_or(|it| total <= it)
    }

    fn keep(&mut self, row: &Row, content: Content, output: Option<u32>) -> Result<(), String> {
        let bytes = match &content {
            Content::Ids => size_of_val(row.ids.as_slice()),
            Content::Rendered(ids) => size_of_val(ids.as_slice()),
            Content::Text => row.text.len(),
            Content::Made(text) => text.len(),
            // The stored text is slightly longer than this, because it includes the names of the roles.
            Content::Messages(all) => all.iter().map(|it| it.text.len()).sum(),
            Content::Turns(system, turns) => system.len() + turns.iter().map(|it| it.0.len()).sum::<usize>(),
        };
        let most = self.rules.most_bytes;
        if self.rows.bytes() + bytes > most {
            return Err(format!("with this row the prompts take more than {most} bytes; lower the count"));
        }
        match content {
            Content::Ids => self.rows.push_ids(row.ids.iter().copied(), output),
            Content::Rendered(ids) => self.rows.push_ids(ids, output),
            Content::Text => self.rows.push_text(&row.text, output),
            Content::Made(text) => self.rows.push_text(&text, output),
            Content::Messages(all) => self.rows.push_text(&conversation::json(&all), output),
            Content::Turns(system, turns) => {
                let outputs: Vec<_> = turns.iter().map(|(_, answer)| self.output(row, answer.as_deref())).collect();
                let turns = turns.iter().zip(outputs).map(|((text, _), output)| Turn { text, output });
                self.rows.push_turns(&system, turns);
            }
        }
        Ok(())
    }
}

/// Returns the system text, and each user turn with its answer. Consecutive messages from one speaker are joined. If `needs_answer`, the first turn
/// without an answer and all later turns are dropped.
fn turns(messages: Vec<Message>, needs_answer: bool) -> (String, Vec<(String, Option<String>)>) {
    let (mut system, mut turns) = (String::new(), Vec::<(String, Option<String>)>::new());
    let append = |to: &mut String, text: &str| {
        if !to.is_empty() {
            to.push('\n');
        }
        to.push_str(text);
    };
    for Message { speaker, text } in messages {
        match (speaker, turns.last_mut()) {
            (Speaker::System, _) => append(&mut system, &text),
            (Speaker::User, Some((question, None))) => append(question, &text),
            (Speaker::User, _) => turns.push((text, None)),
            (Speaker::Assistant, Some((_, answer))) => append(answer.get_or_insert_default(), &text),
            // An assistant message before the first user message answers nothing.
            (Speaker::Assistant, None) => {}
        }
    }
    let is_sent =
        |(question, answer): &(String, Option<String>)| !question.is_empty() && (!needs_answer || answer.is_some());
    let sent = turns.iter().take_while(|it| is_sent(it)).count();
    turns.truncate(sent);
    (system, turns)
}
