//! Punkt's English tables, in the format of the folder `punkt_tab/english` of NLTK's data. Pure: the caller reads the files.

use std::{
    collections::{HashMap, HashSet},
    io,
};

use sha2::{Digest as _, Sha256};

/// One of the table files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFile {
    /// File name in the folder.
    pub name: &'static str,
    /// SHA-256 of the file that MLPerf's check uses, in hexadecimal digits.
    pub sha256: &'static str,
}

/// The files of `punkt_tab/english`. They have the same content as `punkt/english.pickle`, which NLTK 3.8.1 loads.
pub const FILES: [TableFile; 4] = [
    TableFile { name: "abbrev_types.txt", sha256: "92a3e070f43d9b4c5534758ca40ad7343b04e7e29bfe0c2eb658a39445a4f779" },
    TableFile { name: "sent_starters.txt", sha256: "f3f8535483e1dba487241b764945168123bca3209a9645e59acd1225dc76edac" },
    TableFile { name: "collocations.tab", sha256: "8e2da1225e4dd2cc9dba261ee231ccb134859e21b46006e7f472c5ee269af0cf" },
    TableFile { name: "ortho_context.tab", sha256: "4bbcca25ed3d3f06c02402abf8419b9f033b8adc06e7b482eca4e45f81a5dc4c" },
];

/// The reason why sentences cannot be split.
#[derive(Debug, thiserror::Error)]
pub enum PunktError {
    /// A file cannot be read.
    #[error(
        "cannot read Punkt's table {name}: {cause}; give the folder punkt_tab/english of NLTK's data, which has {}",
        FILES.map(|it| it.name).join(", ")
    )]
    Read {
        /// File name.
        name: &'static str,
        /// The error that the caller's `read` returned.
        cause: io::Error,
    },
    /// The content of a file differs from the reference.
    #[error(
        "Punkt's table {name} has the SHA-256 {found}, and the reference scores with {wanted}; give the folder punkt_tab/english of NLTK's data, unchanged"
    )]
    Other {
        /// File name.
        name: &'static str,
        /// SHA-256 of the file that was read.
        found: String,
        /// SHA-256 of the reference.
        wanted: &'static str,
    },
    /// A line does not have the format of its file.
    #[error(
        "Punkt's table {name}, line {line}: no {wanted}; give the folder punkt_tab/english of NLTK's data, unchanged"
    )]
    Line {
        /// File name.
        name: &'static str,
        /// Line number, from 1.
        line: usize,
        /// The expected format.
        wanted: &'static str,
    },
}

/// Punkt's tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Punkt {
    /// Abbreviations in lower case, without the final period.
    pub(super) abbreviations: HashSet<String>,
    pub(super) starters: HashSet<String>,
    /// Pairs of word types that occur together around a period.
    pub(super) collocations: HashSet<(String, String)>,
    /// For each word type, the contexts in which it occurs in upper or lower case, as bits. See `words`.
    pub(super) orthography: HashMap<String, u8>,
}

impl Punkt {
    /// Reads the tables that MLPerf's check uses. `read` returns the content of a file by name.
    ///
    /// # Errors
    /// A file cannot be read, or differs from the reference. Scores with other tables would not be comparable.
    pub fn read(read: impl Fn(&'static str) -> io::Result<Vec<u8>>) -> Result<Punkt, PunktError> {
        let [abbreviations, starters, collocations, orthography] = FILES.map(|TableFile { name, sha256 }| {
            let bytes = read(name).map_err(|cause| PunktError::Read { name, cause })?;
            let found = crate::hex(&Sha256::digest(&bytes));
            if found != sha256 {
                return Err(PunktError::Other { name, found, wanted: sha256 });
            }
            String::from_utf8(bytes).map_err(|_| PunktError::Line { name, line: 1, wanted: "UTF-8" })
        });
        Punkt::parse(&abbreviations?, &starters?, &collocations?, &orthography?)
    }

    /// Parses the tables from the text of each file, in the order of [`FILES`]. Lines are not trimmed, because one abbreviation ends in a
    /// space.
    ///
    /// # Errors
    /// A line in the third file lacks its tab, or a line in the fourth file lacks its tab or its number.
    pub fn parse(
        abbreviations: &str,
        starters: &str,
        collocations: &str,
        orthography: &str,
    ) -> Result<Punkt, PunktError> {
        let words = |text: &str| lines(text).map(|(_, it)| it.to_owned()).collect();
        let wrong = |file: usize, line, wanted| PunktError::Line { name: FILES[file].name, line, wanted };
        let pair = |(line, it): (usize, &str)| {
            let (a, b) = it.split_once('\t').ok_or_else(|| wrong(2, line, "two words with a tab between"))?;
            Ok((a.to_owned(), b.to_owned()))
        };
        let entry = |(line, it): (usize, &str)| {
            let (word, bits) =
                it.split_once('\t').ok_or_else(|| wrong(3, line, "word and number with a tab between"))?;
            let bits = bits.parse().map_err(|_| wrong(3, line, "number from 0 to 255 after the tab"))?;
            Ok((word.to_owned(), bits))
        };
        Ok(Punkt {
            abbreviations: words(abbreviations),
            starters: words(starters),
            collocations: lines(collocations).map(pair).collect::<Result<_, _>>()?,
            orthography: lines(orthography).map(entry).collect::<Result<_, _>>()?,
        })
    }
}

/// Returns the non-empty lines with their numbers, from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split('\n').enumerate().map(|(index, it)| (index + 1, it)).filter(|(_, it)| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tables_are_refused_by_name_and_digest() {
        let missing = Punkt::read(|_| Err(io::Error::from(io::ErrorKind::NotFound))).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read Punkt's table abbrev_types.txt: "), "{missing}");
        assert!(missing.contains("give the folder punkt_tab/english"), "{missing}");
        let other = Punkt::read(|_| Ok(b"dr\n".to_vec())).unwrap_err().to_string();
        assert!(other.contains("has the SHA-256") && other.contains("92a3e070"), "{other}");
    }

    #[test]
    fn lines_without_their_form_are_named() {
        let error = Punkt::parse("a\n", "b\n", "c\td\n", "e\t2\nf 3\n").unwrap_err().to_string();
        assert!(error.starts_with("Punkt's table ortho_context.tab, line 2: no word and number"), "{error}");
        let error = Punkt::parse("", "", "", "e\t300\n").unwrap_err().to_string();
        assert!(error.contains("line 1: no number from 0 to 255"), "{error}");
    }

    #[test]
    fn spaces_of_an_entry_stay() {
        let tables = Punkt::parse(". . \n", "", "", "").unwrap();
        assert!(tables.abbreviations.contains(". . "));
    }
}
