//! The prompts of a data set, one a row. Pure.

/// Prompts in order: four bytes a token, or a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    ids: Vec<u32>,
    texts: String,
    /// The end of each row in `ids` or `texts`.
    ends: Vec<usize>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all prompts.
    pub fn bytes(&self) -> usize {
        self.ids.len() * size_of::<u32>() + self.texts.len()
    }

    /// Adds a row of token ids. All rows of a data set have the same form.
    pub fn push_ids(&mut self, ids: impl IntoIterator<Item = u32>) {
        self.ids.extend(ids);
        self.ends.push(self.ids.len());
    }

    pub fn push_text(&mut self, text: &str) {
        self.texts.push_str(text);
        self.ends.push(self.texts.len());
    }

    /// The token ids of a row; empty beyond the last row.
    pub fn ids(&self, number: u64) -> &[u32] {
        self.bounds(number).and_then(|(start, end)| self.ids.get(start..end)).unwrap_or_default()
    }

    /// The text of a row; empty beyond the last row.
    pub fn text(&self, number: u64) -> &str {
        self.bounds(number).and_then(|(start, end)| self.texts.get(start..end)).unwrap_or_default()
    }

    fn bounds(&self, number: u64) -> Option<(usize, usize)> {
        let number = usize::try_from(number).ok()?;
        let start = number.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        Some((start, *self.ends.get(number)?))
    }
}
