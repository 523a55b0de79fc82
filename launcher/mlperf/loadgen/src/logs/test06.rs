//! TEST06, the compliance test of language models. It checks in the accuracy log of a run that first tokens match the answers, that no answer
//! continues after its end, and that token counts are right. In this implementation, an empty answer fails. It would pass the other checks, but a
//! failed sample has an empty answer, and a model must not send one.
//!
//! The run does not have to be VALID, because it has only a hundred queries.

use std::io::BufRead;

use crate::logs::accuracy_log::{self, AccuracyEntry, ReadError};

/// The type in which token ids are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElementType {
    /// 64-bit integers.
    Int64,
    /// 32-bit integers, as in the reference implementations.
    #[default]
    Int32,
    /// 16-bit integers.
    Int16,
    /// 32-bit floating-point numbers.
    Float32,
}

impl ElementType {
    /// All types, the usual one first.
    pub const ALL: [ElementType; 4] =
        [ElementType::Int32, ElementType::Int64, ElementType::Int16, ElementType::Float32];
}

/// The result of the test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test06 {
    /// Number of answers checked.
    pub answers: u64,
    /// Whether the first token matches the answer; `None` in Offline, where no first token is logged.
    pub first_token: Option<Check>,
    /// Whether the answer has at most one end-of-sequence token, and only at its end.
    pub end: Check,
    /// Whether `token_count` equals the number of tokens.
    pub length: Check,
    /// Whether the answer is not empty.
    pub answered: Check,
}

/// The result of one check over all answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Number of answers that fail the check.
    pub failed: u64,
    /// Sequence number of the first answer that fails.
    pub first: Option<u64>,
}

impl Check {
    fn note(&mut self, passes: bool, entry: &AccuracyEntry) {
        if !passes {
            self.failed += 1;
            self.first.get_or_insert(entry.seq_id);
        }
    }

    /// Whether no answer fails the check.
    pub fn passes(&self) -> bool {
        self.failed == 0
    }
}

impl Test06 {
    /// Checks every answer in an accuracy log. `end_of_sequence` is the id of the end-of-sequence token: 2 for Llama 2, 128009 for Llama
    /// 3.1 Instruct.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn from_log(
        log: impl BufRead,
        offline: bool,
        end_of_sequence: i64,
        elements: ElementType,
    ) -> Result<Test06, ReadError> {
        let (mut answers, mut first_token) = (0, Check::default());
        let (mut end, mut length, mut answered) = (Check::default(), Check::default(), Check::default());
        for entry in accuracy_log::read(log) {
            let entry = entry?;
            answers += 1;
            answered.note(!entry.data.is_empty(), &entry);
            // If the bytes are not a whole number of tokens, the answer is invalid and fails every check.
            let tokens = elements.tokens(&entry.data);
            let first = entry.token_data.as_ref().and_then(|it| elements.tokens(it));
            let both = tokens.as_ref().zip(first.as_ref());
            first_token.note(both.is_some_and(|(all, first)| all.starts_with(first)), &entry);
            let ends = |all: &Vec<i64>| all.iter().rev().take_while(|it| **it == end_of_sequence).count();
            end.note(tokens.as_ref().is_some_and(|it| ends(it) <= 1), &entry);
            let counted = entry.token_count.and_then(|it| usize::try_from(it).ok());
            length.note(counted.is_some() && tokens.map(|it| it.len()) == counted, &entry);
        }
        Ok(Test06 { answers, first_token: (!offline).then_some(first_token), end, length, answered })
    }

    /// Whether there is at least one answer, and all checks pass.
    pub fn passes(&self) -> bool {
        let first = self.first_token.as_ref().is_none_or(Check::passes);
        self.answers > 0 && first && [&self.end, &self.length, &self.answered].into_iter().all(Check::passes)
    }

    /// Returns the text of verify_accuracy.txt. Its last line contains the result. If the test failed, the lines before it name the
    /// failures.
    pub fn text(&self) -> String {
        let word = |check: &Check| if check.passes() { "True" } else { "False" };
        let mut text = format!(
            "First token check pass: {}\nEOS check pass: {}\nSample length check pass: {}\n",
            self.first_token.as_ref().map_or("Skipped", word),
            word(&self.end),
            word(&self.length)
        );
        let checks =
            [("first token", self.first_token.as_ref()), ("EOS", Some(&self.end)), ("length", Some(&self.length))];
        for (name, check) in checks {
            if let Some(Check { failed, first: Some(first) }) = check {
                text += &format!(
                    "{failed} of {} answers fail the {name} check, the first is seq_id {first}\n",
                    self.answers
                );
            }
        }
        if let Check { failed, first: Some(first) } = self.answered {
            text += &format!("{failed} of {} answers are empty, the first is seq_id {first}\n", self.answers);
        }
        if self.answers == 0 {
            text += "The accuracy log is empty\n";
        }
        text + if self.passes() { "TEST06 verification complete\n" } else { "TEST06 verification failed\n" }
    }
}

impl ElementType {
    /// Parses token ids; `None` if the bytes end within a token id.
    fn tokens(self, bytes: &[u8]) -> Option<Vec<i64>> {
        match self {
            ElementType::Int64 => elements(bytes, i64::from_le_bytes),
            ElementType::Int32 => elements(bytes, |it| i64::from(i32::from_le_bytes(it))),
            ElementType::Int16 => elements(bytes, |it| i64::from(i16::from_le_bytes(it))),
            ElementType::Float32 => elements(bytes, |it| f32::from_le_bytes(it) as i64),
        }
    }
}

fn elements<const SIZE: usize>(bytes: &[u8], of: impl Fn([u8; SIZE]) -> i64) -> Option<Vec<i64>> {
    let (whole, rest) = bytes.as_chunks::<SIZE>();
    rest.is_empty().then(|| whole.iter().map(|it| of(*it)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::accuracy_log::{Writer, bytes_of};

    const EOS: i32 = 2;

    fn entry(tokens: &[i32], first: Option<&[i32]>, count: i64) -> AccuracyEntry {
        AccuracyEntry {
            data: bytes_of(tokens),
            token_data: first.map(bytes_of),
            token_count: Some(count),
            ..AccuracyEntry::default()
        }
    }

    fn test(offline: bool, entries: &[AccuracyEntry]) -> Test06 {
        let mut log = Vec::new();
        let mut writer = Writer::new(&mut log).unwrap();
        entries.iter().for_each(|it| writer.add(it).unwrap());
        writer.finish().unwrap();
        Test06::from_log(log.as_slice(), offline, EOS.into(), ElementType::Int32).unwrap()
    }

    #[test]
    fn a_good_log_passes_in_the_words_of_the_checker() {
        let streamed = test(false, &[entry(&[5, 6, EOS], Some(&[5]), 3), entry(&[7], Some(&[7]), 1)]);
        let expected = "First token check pass: True\nEOS check pass: True\nSample length check pass: True\nTEST06 \
                        verification complete\n";
        assert_eq!(streamed.text(), expected);
        let offline = test(true, &[entry(&[5, 6, EOS], None, 3)]);
        assert_eq!(offline.text(), expected.replacen("True", "Skipped", 1));
    }

    #[test]
    fn each_check_fails_by_itself() {
        let found = test(false, &[entry(&[5, 6], Some(&[6]), 2)]);
        assert_eq!((found.first_token.clone().unwrap().failed, found.end.failed, found.length.failed), (1, 0, 0));
        assert!(found.text().contains("First token check pass: False\n"));
        assert!(found.text().contains("1 of 1 answers fail the first token check, the first is seq_id 0\n"));
        assert!(found.text().ends_with("TEST06 verification failed\n"));
        let found = test(false, &[entry(&[5, EOS, EOS], Some(&[5]), 3)]);
        assert_eq!((found.first_token.unwrap().failed, found.end.failed, found.length.failed), (0, 1, 0));
        let found = test(false, &[entry(&[5, 6], Some(&[5]), 3)]);
        assert_eq!((found.first_token.unwrap().failed, found.end.failed, found.length.failed), (0, 0, 1));
    }

    #[test]
    fn what_is_missing_fails() {
        assert!(!test(true, &[]).passes());
        assert!(!test(false, &[entry(&[5], None, 1)]).passes());
        let found = test(false, &[entry(&[5], Some(&[5]), 1), entry(&[], Some(&[]), 0)]);
        assert!(!found.passes());
        let ending = "1 of 2 answers are empty, the first is seq_id 0\nTEST06 verification failed\n";
        assert!(found.text().ends_with(ending), "{}", found.text());
        let cut = AccuracyEntry { data: vec![1, 0, 0], token_count: Some(0), ..AccuracyEntry::default() };
        let found = test(true, &[cut]);
        assert_eq!((found.end.failed, found.length.failed), (1, 1));
    }

    #[test]
    fn elements_are_read_as_told() {
        let check = |elements: ElementType, bytes: &[u8], expected: Option<Vec<i64>>| {
            assert_eq!(elements.tokens(bytes), expected, "{elements:?}");
        };
        check(ElementType::Int64, &[9, 0, 0, 0, 0, 0, 0, 0], Some(vec![9]));
        check(ElementType::Int32, &[9, 0, 0, 0, 255, 255, 255, 255], Some(vec![9, -1]));
        check(ElementType::Int16, &[9, 1], Some(vec![265]));
        check(ElementType::Float32, &128_009_f32.to_le_bytes(), Some(vec![128_009]));
        check(ElementType::Int64, &[9, 0, 0, 0], None);
    }
}
