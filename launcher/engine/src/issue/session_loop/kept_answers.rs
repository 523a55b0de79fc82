//! The server's answers in a recorded session, as long as unsent requests need them. Pure.

use std::collections::BTreeMap;

use crate::sessions::MAX_HISTORY;

/// Answers by the number of their request.
#[derive(Debug)]
pub(super) struct KeptAnswers {
    texts: BTreeMap<usize, String>,
    /// How often unsent requests contain each answer.
    uses: Vec<u32>,
    /// Total bytes of the texts.
    bytes: usize,
}

impl KeptAnswers {
    /// `uses`: how often the requests of the session contain each answer.
    pub(super) fn new(uses: &[u32]) -> KeptAnswers {
        KeptAnswers { texts: BTreeMap::new(), uses: uses.to_vec(), bytes: 0 }
    }

    /// Whether an unsent request contains the answer to a request.
    pub(super) fn is_needed(&self, index: usize) -> bool {
        self.uses.get(index).is_some_and(|it| *it > 0)
    }

    /// The answer to a request; `None`: there is no answer, the request failed, or the answer did not fit.
    pub(super) fn get(&self, index: usize) -> Option<&str> {
        self.texts.get(&index).map(String::as_str)
    }

    /// Keeps an answer if it is needed. Drops the answers of the first requests while the total exceeds [`MAX_HISTORY`].
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

    /// Notes that a request was made that contains this answer once. After the last use the answer is dropped.
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
