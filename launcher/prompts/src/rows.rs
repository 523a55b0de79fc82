//! The rows of a data set, without the parts that are not sent. Pure.

/// Rows in the order in which they are sent. Each row is a prompt, or the user messages of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    ids: Vec<u32>,
    texts: String,
    /// All prompts, or all parts of conversations, in the order of the file.
    parts: Vec<Part>,
    /// Only for conversations: the index in `parts` after the last part of each row. The first part of a row is the system text.
    ends: Vec<usize>,
    /// The indices of the rows that are sent, in the order of sending; `None` for all rows in the order of the file.
    order: Option<Vec<u32>>,
}

/// A prompt, or a part of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// The end of the part in `ids` or in `texts`.
    end: usize,
    /// The requested output length in tokens; 0 if the row does not specify it.
    output: u32,
}

/// A user message in a recorded conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<'a> {
    /// The text of the message.
    pub text: &'a str,
    /// The requested output length in tokens; `None` if the row does not specify it.
    pub output: Option<u32>,
}

impl Rows {
    /// Number of rows that are sent.
    pub fn len(&self) -> usize {
        self.order.as_ref().map_or_else(|| self.stored(), Vec::len)
    }

    /// Whether no row is sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of the rows in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.ids.len() * size_of::<u32>()
            + self.texts.len()
            + self.parts.len() * size_of::<Part>()
            + self.ends.len() * size_of::<usize>()
    }

    /// Adds a prompt of token ids. All rows of a data set must have the same form: token ids, texts, or conversations.
    pub fn push_ids(&mut self, ids: impl IntoIterator<Item = u32>, output: Option<u32>) {
        self.ids.extend(ids);
        self.parts.push(Part { end: self.ids.len(), output: output.unwrap_or_default() });
    }

    /// Adds a prompt that is a text, or a list of messages as JSON.
    pub fn push_text(&mut self, text: &str, output: Option<u32>) {
        self.texts.push_str(text);
        self.parts.push(Part { end: self.texts.len(), output: output.unwrap_or_default() });
    }

    /// Adds a conversation.
    pub fn push_turns<'a>(&mut self, system: &str, turns: impl IntoIterator<Item = Turn<'a>>) {
        self.push_text(system, None);
        for turn in turns {
            self.push_text(turn.text, turn.output);
        }
        self.ends.push(self.parts.len());
    }

    /// Sets which rows are sent, and in which order. `order` contains their indices in the file.
    pub fn set_order(&mut self, order: Vec<u32>) {
        self.order = Some(order);
    }

    /// Number of rows in memory, including rows that are not sent.
    pub fn stored(&self) -> usize {
        if self.ends.is_empty() { self.parts.len() } else { self.ends.len() }
    }

    /// The token ids of a row; empty beyond the last row.
    pub fn ids(&self, row: u64) -> &[u32] {
        self.place(row)
            .and_then(|it| self.bounds(it))
            .and_then(|(start, end)| self.ids.get(start..end))
            .unwrap_or_default()
    }

    /// The text of a row; empty beyond the last row.
    pub fn text(&self, row: u64) -> &str {
        self.place(row).map_or("", |it| self.part(it))
    }

    /// The requested output length of a row in tokens; `None` if the row does not specify it.
    pub fn output(&self, row: u64) -> Option<u32> {
        self.place(row).and_then(|it| self.output_of(it))
    }

    /// The system text of a conversation; empty if it has none.
    pub fn system(&self, row: u64) -> &str {
        self.turn_parts(row).next().map_or("", |it| self.part(it))
    }

    /// The user messages of a conversation; none beyond the last row.
    pub fn turns(&self, row: u64) -> impl ExactSizeIterator<Item = Turn<'_>> {
        let mut parts = self.turn_parts(row);
        parts.next();
        parts.map(|it| Turn { text: self.part(it), output: self.output_of(it) })
    }

    fn turn_parts(&self, row: u64) -> std::ops::Range<usize> {
        let bounds = self.place(row).and_then(|row| {
            let start = row.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
            Some(start..*self.ends.get(row)?)
        });
        bounds.unwrap_or(0..0)
    }

    /// The index of a row in the file.
    fn place(&self, row: u64) -> Option<usize> {
        let row = usize::try_from(row).ok()?;
        match &self.order {
            Some(order) => order.get(row).map(|it| *it as usize),
            None => Some(row),
        }
    }

    fn part(&self, part: usize) -> &str {
        self.bounds(part).and_then(|(start, end)| self.texts.get(start..end)).unwrap_or_default()
    }

    fn output_of(&self, part: usize) -> Option<u32> {
        self.parts.get(part).map(|it| it.output).filter(|it| *it > 0)
    }

    fn bounds(&self, part: usize) -> Option<(usize, usize)> {
        let start = part.checked_sub(1).map_or(Some(0), |before| self.parts.get(before).map(|it| it.end))?;
        Some((start, self.parts.get(part)?.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(text: &str, output: u32) -> Turn<'_> {
        Turn { text, output: Some(output).filter(|it| *it > 0) }
    }

    #[test]
    fn a_conversation_has_its_turns_in_any_order_of_rows() {
        let mut rows = Rows::default();
        rows.push_turns("", [turn("a", 1), turn("bc", 0)]);
        rows.push_turns("be brief", [turn("d", 7)]);
        rows.push_turns("", []);
        let check = |rows: &Rows, row, system: &str, turns: &[Turn]| {
            assert_eq!((rows.system(row), rows.turns(row).collect::<Vec<_>>().as_slice()), (system, turns));
        };
        check(&rows, 0, "", &[turn("a", 1), turn("bc", 0)]);
        check(&rows, 1, "be brief", &[turn("d", 7)]);
        check(&rows, 2, "", &[]);
        check(&rows, 3, "", &[]);
        assert_eq!(rows.len(), 3);
        rows.set_order(vec![1, 0]);
        check(&rows, 0, "be brief", &[turn("d", 7)]);
        check(&rows, 1, "", &[turn("a", 1), turn("bc", 0)]);
        check(&rows, 2, "", &[]);
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn a_prompt_has_its_own_output_length_or_none() {
        let mut rows = Rows::default();
        rows.push_text("a", Some(5));
        rows.push_text("b", None);
        assert_eq!([rows.output(0), rows.output(1), rows.output(2)], [Some(5), None, None]);
        assert_eq!([rows.text(0), rows.text(1), rows.text(2)], ["a", "b", ""]);
    }
}
