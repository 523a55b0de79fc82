//! The prompts of a data set, one a row, and the request that each of them is.

use std::fmt::Write as _;

use workload_profiles::workload::{DataSet, PromptForm};

use super::Asked;

/// Prompts in order, one behind the other: four bytes a token, or a text as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    ids: Vec<u32>,
    texts: String,
    /// Where in them each row ends.
    ends: Vec<usize>,
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many bytes their prompts take.
    pub fn bytes(&self) -> usize {
        self.ids.len() * size_of::<u32>() + self.texts.len()
    }

    /// Adds a row of token ids. All rows of a data set are of one form.
    pub fn push_ids(&mut self, ids: impl IntoIterator<Item = u32>) {
        self.ids.extend(ids);
        self.ends.push(self.ids.len());
    }

    /// Adds a row of text.
    pub fn push_text(&mut self, text: &str) {
        self.texts.push_str(text);
        self.ends.push(self.texts.len());
    }

    /// The token ids of a row; none where it is past the last.
    pub fn ids(&self, number: u64) -> &[u32] {
        self.bounds(number).and_then(|(start, end)| self.ids.get(start..end)).unwrap_or_default()
    }

    /// The text of a row; empty where it is past the last.
    pub fn text(&self, number: u64) -> &str {
        self.bounds(number).and_then(|(start, end)| self.texts.get(start..end)).unwrap_or_default()
    }

    fn bounds(&self, number: u64) -> Option<(usize, usize)> {
        let number = usize::try_from(number).ok()?;
        let start = number.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        Some((start, *self.ends.get(number)?))
    }

    /// Adds the prompt of a request to `text` as it is sent.
    pub(super) fn write(&self, number: u64, set: &DataSet, text: &mut String) -> Asked {
        let output = Some(set.output);
        match set.prompt.form {
            PromptForm::Text => {
                text.push_str(self.text(number));
                Asked { output, ..Asked::default() }
            }
            PromptForm::TokenIds => {
                let ids = self.ids(number);
                text.push('[');
                for (place, id) in ids.iter().enumerate() {
                    let comma = if place == 0 { "" } else { "," };
                    write!(text, "{comma}{id}").expect("a String takes everything");
                }
                text.push(']');
                Asked { input: u32::try_from(ids.len()).ok(), is_exact: true, output }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use workload_profiles::workload::{DataSetFormat, PromptColumn};

    use super::*;

    fn check(rows: &Rows, form: PromptForm, number: u64, expected: (&str, Option<u32>)) {
        let prompt = PromptColumn::from_form(form);
        let set = DataSet { path: "d".into(), format: DataSetFormat::Json, prompt, output: 9, count: 2 };
        let mut text = String::new();
        let asked = rows.write(number, &set, &mut text);
        assert_eq!((text.as_str(), asked.input), expected);
        assert_eq!((asked.output, asked.is_exact), (Some(9), form == PromptForm::TokenIds));
    }

    #[test]
    fn a_request_is_its_row() {
        let mut ids = Rows::default();
        [vec![5, 6, u32::MAX], vec![], vec![7]].into_iter().for_each(|it| ids.push_ids(it));
        check(&ids, PromptForm::TokenIds, 0, ("[5,6,4294967295]", Some(3)));
        check(&ids, PromptForm::TokenIds, 1, ("[]", Some(0)));
        check(&ids, PromptForm::TokenIds, 2, ("[7]", Some(1)));
        let mut texts = Rows::default();
        ["é \"a\"", "", "z"].into_iter().for_each(|it| texts.push_text(it));
        check(&texts, PromptForm::Text, 0, ("é \"a\"", None));
        check(&texts, PromptForm::Text, 2, ("z", None));
        assert_eq!((ids.len(), ids.is_empty(), Rows::default().is_empty()), (3, false, true));
    }

    #[test]
    fn there_is_nothing_past_the_last_row() {
        let mut rows = Rows::default();
        rows.push_ids([1]);
        for number in [1, 2, u64::MAX] {
            check(&rows, PromptForm::TokenIds, number, ("[]", Some(0)));
            check(&rows, PromptForm::Text, number, ("", None));
        }
    }
}
