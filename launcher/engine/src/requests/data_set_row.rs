//! Builds a request from a row of a data set. Pure.

use std::fmt::Write as _;

use workload_profiles::workload::{DataSet, PromptForm};

use super::RequestedLengths;
use prompts::Rows;

/// Appends the prompt of row `number` to `text`, in the format in which it is sent. Returns the requested lengths.
pub(super) fn write(rows: &Rows, number: u64, set: &DataSet, text: &mut String) -> RequestedLengths {
    let output = rows.output(number);
    match set.form() {
        PromptForm::Text | PromptForm::Messages => {
            text.push_str(rows.text(number));
            RequestedLengths { output, ..RequestedLengths::default() }
        }
        PromptForm::TokenIds => {
            let ids = rows.ids(number);
            text.push('[');
            for (place, id) in ids.iter().enumerate() {
                let comma = if place == 0 { "" } else { "," };
                write!(text, "{comma}{id}").expect("a String takes everything");
            }
            text.push(']');
            RequestedLengths { input: u32::try_from(ids.len()).ok(), is_exact: true, output }
        }
    }
}

#[cfg(test)]
mod tests {
    use workload_profiles::workload::{DataSetFormat, PromptColumn};

    use super::*;

    fn check(rows: &Rows, form: PromptForm, number: u64, expected: (&str, Option<u32>)) {
        let prompt = PromptColumn::from_form(form);
        let set = DataSet::new("d", DataSetFormat::Json, prompt, 9, 2);
        let mut text = String::new();
        let requested = write(rows, number, &set, &mut text);
        assert_eq!((text.as_str(), requested.input), expected);
        assert_eq!((requested.output, requested.is_exact), (rows.output(number), form == PromptForm::TokenIds));
    }

    #[test]
    fn a_request_is_its_row() {
        let mut ids = Rows::default();
        [vec![5, 6, u32::MAX], vec![], vec![7]].into_iter().for_each(|it| ids.push_ids(it, Some(9)));
        check(&ids, PromptForm::TokenIds, 0, ("[5,6,4294967295]", Some(3)));
        check(&ids, PromptForm::TokenIds, 1, ("[]", Some(0)));
        check(&ids, PromptForm::TokenIds, 2, ("[7]", Some(1)));
        let mut texts = Rows::default();
        ["é \"a\"", "", "z"].into_iter().for_each(|it| texts.push_text(it, Some(9)));
        check(&texts, PromptForm::Text, 0, ("é \"a\"", None));
        check(&texts, PromptForm::Text, 2, ("z", None));
        assert_eq!((ids.len(), ids.is_empty(), Rows::default().is_empty()), (3, false, true));
    }

    #[test]
    fn there_is_nothing_past_the_last_row() {
        let mut rows = Rows::default();
        rows.push_ids([1], Some(9));
        for number in [1, 2, u64::MAX] {
            check(&rows, PromptForm::TokenIds, number, ("[]", Some(0)));
            check(&rows, PromptForm::Text, number, ("", None));
        }
    }
}
