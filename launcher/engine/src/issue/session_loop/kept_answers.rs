//! Keeps the server's answers in a recorded session while unsent requests need them. Pure.

use std::collections::BTreeMap;

use crate::sessions::MAX_HISTORY;

/// Answers by request index.
#[derive(Debug)]
pub(super) struct KeptAnswers {
    texts: BTreeMap<usize, String>,
    /// For each request, how many unsent requests contain its answer.
    uses: Vec<u32>,
    /// Total size of the texts, in bytes.
    bytes: usize,
}

impl KeptAnswers {
    /// Creates an empty store. `uses`: for each request, how often the session's requests contain its answer.
    pub(super) fn new(uses: &[u32]) -> KeptAnswers {
        KeptAnswers { texts: BTreeMap::new(), uses: uses.to_vec(), bytes: 0 }
    }

    /// Whether an unsent request contains the answer to request `index`.
    pub(super) fn is_needed(&self, index: usize) -> bool {
        self.uses.get(index).is_some_and(|it| *it > 0)
    }

    /// Returns the answer to request `index`. `None` if there is no answer yet, the request failed, or the answer was dropped for lack of
    /// space.
    pub(super) fn get(&self, index: usize) -> Option<&str> {
        self.texts.get(&index).map(String::as_str)
    }

    /// Stores an answer if it is needed. While the total exceeds [`MAX_HISTORY`], drops the answers of the earliest requests.
    pub(super) fn keep(&mut self, index: usize, text: String) {
        if !self.is_needed(index) {
            return;
        }
        self.bytes += text.len();
        self.texts.insert(index, text);
        while self.bytes > MAX_HISTORY {
            let Some((_, oldest)) = self.texts.pop_first() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// Records that a request which contains this answer was generated. After the last such request the answer is dropped.
    pub(super) fn used(&mut self, index: usize) {
        let Some(uses) = self.uses.get_mut(index) else { return };
        *uses = uses.saturating_sub(1);
        if *uses == 0
            && let Some(text) = self.texts.remove(&index)
        {
            self.bytes -= text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_kept_until_its_last_use() {
        let mut answers = KeptAnswers::new(&[2, 0]);
        assert_eq!([0, 1, 2].map(|it| answers.is_needed(it)), [true, false, false]);
        answers.keep(0, "a".into());
        answers.keep(1, "b".into());
        assert_eq!((answers.get(0), answers.get(1), answers.bytes), (Some("a"), None, 1));
        answers.used(0);
        assert_eq!(answers.get(0), Some("a"));
        answers.used(0);
        assert_eq!((answers.get(0), answers.bytes), (None, 0));
    }

    #[test]
    fn the_answers_of_a_session_have_a_bound() {
        let mut answers = KeptAnswers::new(&[1, 1, 1]);
        for index in 0..3 {
            answers.keep(index, "x".repeat(MAX_HISTORY / 2));
        }
        assert_eq!((answers.get(0), answers.get(2).is_some(), answers.bytes), (None, true, MAX_HISTORY));
    }
}
