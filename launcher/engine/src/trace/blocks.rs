//! The block hashes of recorded prompts. Pure.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Maximum number of hashes per trace. They take 256 MiB of memory.
pub(super) const MAX_HASHES: usize = 32 << 20;

/// The block hashes of each recorded prompt. A hash takes eight bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    hashes: Vec<u64>,
    /// The end index of each request in `hashes`.
    ends: Vec<usize>,
}

impl Blocks {
    /// Adds the hashes of the next request.
    pub fn push(&mut self, hashes: impl IntoIterator<Item = u64>) {
        self.hashes.extend(hashes);
        self.ends.push(self.hashes.len());
    }

    /// Returns the hashes of a request. Empty for requests beyond the last one.
    pub fn hashes(&self, request: u64) -> &[u64] {
        let bounds = usize::try_from(request).ok().and_then(|it| {
            let start = it.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
            self.hashes.get(start..*self.ends.get(it)?)
        });
        bounds.unwrap_or_default()
    }

    /// Total number of hashes.
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(crate) fn has_hashes(&self) -> bool {
        !self.hashes.is_empty()
    }
}

/// Parses a list of hashes, which are numbers or strings. In CSV the list itself is a string. Returns `None` if the value is not such a
/// list.
pub(crate) fn hashes(list: &Value) -> Option<Vec<u64>> {
    match list {
        Value::Array(list) => list.iter().map(hash).collect(),
        Value::String(text) => {
            let list: Value = serde_json::from_str(text).ok()?;
            list.as_array()?.iter().map(hash).collect()
        }
        _ => None,
    }
}

fn hash(value: &Value) -> Option<u64> {
    match value {
        // A negative number is mapped to a distinct bit pattern.
        Value::Number(number) => number.as_u64().or_else(|| number.as_i64().map(i64::cast_unsigned)),
        Value::String(text) => {
            let digest = Sha256::digest(text.as_bytes());
            let (first, _) = digest.split_first_chunk::<8>()?;
            Some(u64::from_le_bytes(*first))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_of_numbers_or_texts_is_a_list_of_hashes() {
        assert_eq!(hashes(&json!([0, 46, u64::MAX])), Some(vec![0, 46, u64::MAX]));
        assert_eq!(hashes(&json!("[1, 2]")), Some(vec![1, 2]));
        assert_eq!(hashes(&json!([])), Some(vec![]));
        let texts = hashes(&json!(["a", "b", "a"])).unwrap();
        assert!(texts[0] == texts[2] && texts[0] != texts[1]);
        for wrong in [json!([1.5]), json!([null]), json!(5), json!("5"), json!("a"), json!([[1]])] {
            assert_eq!(hashes(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_request_has_its_hashes() {
        let mut blocks = Blocks::default();
        [vec![1, 2], vec![], vec![3]].into_iter().for_each(|it| blocks.push(it));
        let all: Vec<_> = [0, 1, 2, 3, u64::MAX].map(|it| blocks.hashes(it)).to_vec();
        assert_eq!(all, [[1, 2].as_slice(), &[], &[3], &[], &[]]);
        assert!(blocks.has_hashes() && blocks.len() == 3);
    }
}
