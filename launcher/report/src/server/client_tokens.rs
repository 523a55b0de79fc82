//! The tokens of a run as the client knows them. Pure.

/// Tokens of all requests of a run. The usage of an answer says how many a request had; of a request without it only a bound is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientTokens {
    pub prompt: TokenRange,
    pub output: TokenRange,
}

/// A number of tokens that is known in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRange {
    /// By the usage of the answers.
    pub known: u64,
    /// With the most that requests without usage may have had; `None`: that has no bound.
    pub most: Option<u64>,
}

impl Default for TokenRange {
    fn default() -> TokenRange {
        TokenRange::exact(0)
    }
}

impl TokenRange {
    /// Every request has usage.
    pub fn exact(tokens: u64) -> TokenRange {
        TokenRange { known: tokens, most: Some(tokens) }
    }

    /// `None`: a request has no usage.
    pub fn whole(self) -> Option<u64> {
        self.most.filter(|it| *it == self.known)
    }

    /// Adds a request. `tokens`: by its usage; `most`: what it may have had without usage, `None` if that has no bound.
    pub fn add(&mut self, tokens: Option<u64>, most: Option<u64>) {
        self.known += tokens.unwrap_or(0);
        self.most = self.most.zip(tokens.or(most)).map(|(sum, it)| sum.saturating_add(it));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_usage_widens_the_range() {
        let mut range = TokenRange::exact(10);
        range.add(Some(5), Some(100));
        assert_eq!(range.whole(), Some(15));
        range.add(None, Some(100));
        assert_eq!((range, range.whole()), (TokenRange { known: 15, most: Some(115) }, None));
        range.add(None, None);
        range.add(Some(1), None);
        assert_eq!((range, range.whole()), (TokenRange { known: 16, most: None }, None));
    }
}
