//! [I/O] Checks that a complete accuracy log contains an answer to every sample. A submission tree contains only the beginning and the end of the
//! log, so this check is impossible later. LoadGen has no failed samples: it logs an empty answer for a sample that failed.

use std::{collections::HashSet, io::BufReader, path::Path};

use files::user_file;
use loadgen::logs::accuracy_log::{self, ReadError};

/// Returns what is wrong with the log, if anything. It must contain an answer to each of `samples` samples.
pub(super) fn fault(log: &Path, samples: u64) -> Result<Option<String>, ReadError> {
    let (mut answered, mut empty) = (HashSet::new(), 0_u64);
    for entry in accuracy_log::read(BufReader::new(user_file::open(log)?)) {
        let entry = entry?;
        if entry.data.is_empty() {
            empty += 1;
        } else if answered.len() as u64 <= samples {
            // Reading stops after one sample more than expected, because that is enough to detect the fault.
            answered.insert(entry.qsl_idx);
        }
    }
    let found = answered.len() as u64;
    let right = found == samples && empty == 0;
    Ok((!right)
        .then(|| format!("its accuracy log answers {found} of {samples} samples, and {empty} answers are empty")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen::logs::accuracy_log::{AccuracyEntry, Writer};

    fn check(answers: &[(u64, &[u8])], expected: Option<&str>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut log = Writer::new(file.as_file()).unwrap();
        for (qsl_idx, data) in answers {
            log.add(&AccuracyEntry { qsl_idx: *qsl_idx, data: data.to_vec(), ..AccuracyEntry::default() }).unwrap();
        }
        log.finish().unwrap();
        let found = fault(file.path(), 2).unwrap();
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn every_sample_has_an_answer_with_something_in_it() {
        check(&[(0, b"abcd"), (1, b"abcd")], None);
        check(&[(0, b"abcd")], Some("its accuracy log answers 1 of 2 samples, and 0 answers are empty"));
        check(&[(0, b"abcd"), (0, b"abcd")], Some("its accuracy log answers 1 of 2 samples, and 0 answers are empty"));
        check(&[(0, b"abcd"), (1, b"")], Some("its accuracy log answers 1 of 2 samples, and 1 answers are empty"));
        check(
            &[(0, b"abcd"), (1, b"a"), (2, b"a"), (3, b"a")],
            Some("its accuracy log answers 3 of 2 samples, and 0 answers are empty"),
        );
    }
}
