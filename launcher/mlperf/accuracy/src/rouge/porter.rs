//! Porter's stemmer with the changes that NLTK's `PorterStemmer` makes in its default mode, which `rouge_score` uses. Pure.
//!
//! Sources: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, and `nltk/stem/porter.py` of NLTK 3.8.1, mode `NLTK_EXTENSIONS`.
//! Other crates implement the original algorithm or Porter 2, and these give different stems.

/// Irregular words and their stems, as NLTK lists them.
const IRREGULAR: [(&str, &str); 17] = [
    ("sky", "sky"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("news", "news"),
    ("inning", "inning"),
    ("innings", "inning"),
    ("outing", "outing"),
    ("outings", "outing"),
    ("canning", "canning"),
    ("cannings", "canning"),
    ("howe", "howe"),
    ("proceed", "proceed"),
    ("exceed", "exceed"),
    ("succeed", "succeed"),
    ("", ""),
];

const STEP_2: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
];

const STEP_3: [(&str, &str); 7] =
    [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

const STEP_4: [&str; 19] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
];

/// Returns the stem of a word that consists of the letters `a` to `z` and of digits, which count as consonants. A word with any other character is
/// returned unchanged. Needs time proportional to the length of the word.
pub fn stem(word: &str) -> String {
    if let Some((_, stem)) = IRREGULAR.iter().find(|(it, _)| *it == word) {
        return (*stem).to_owned();
    }
    if word.len() <= 2 || !word.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit()) {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    step_1a(&mut word);
    step_1b(&mut word);
    step_1c(&mut word);
    step_2(&mut word);
    replace_first(&mut word, &STEP_3, |rest| measure(rest) > 0);
    step_4(&mut word);
    step_5(&mut word);
    word
}

/// Returns for each letter whether it is a consonant. `y` is a consonant at the start of the word and after a vowel.
fn consonants(word: &str) -> impl Iterator<Item = bool> {
    word.bytes().scan(None, |before: &mut Option<bool>, letter| {
        let consonant = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => *before != Some(true),
            _ => true,
        };
        *before = Some(consonant);
        *before
    })
}

/// Porter's m: how many times a vowel is directly followed by a consonant.
fn measure(word: &str) -> usize {
    let mut before = true;
    consonants(word).filter(|consonant| std::mem::replace(&mut before, *consonant) != *consonant && *consonant).count()
}

fn has_vowel(word: &str) -> bool {
    consonants(word).any(|it| !it)
}

fn ends_in_consonant(word: &str) -> bool {
    consonants(word).last() == Some(true)
}

fn ends_in_doubled_consonant(word: &str) -> bool {
    matches!(word.as_bytes(), [.., a, b] if a == b) && ends_in_consonant(word)
}

/// Porter's condition *o: the word ends with a consonant, a vowel, and a consonant other than w, x and y. NLTK adds words that are a vowel and a
/// consonant.
fn ends_short(word: &str) -> bool {
    let kinds: Vec<bool> = consonants(word).collect();
    match kinds.as_slice() {
        [false, true] => true,
        [.., true, false, true] => !word.ends_with(['w', 'x', 'y']),
        _ => false,
    }
}

fn cut(word: &mut String, letters: usize, end: &str) {
    word.truncate(word.len() - letters);
    word.push_str(end);
}

/// Replaces the first suffix in `rules` that matches, if the rest of the word meets the condition. Returns whether a suffix matched. After a match,
/// further suffixes are not tried.
fn replace_first(word: &mut String, rules: &[(&str, &str)], condition: impl Fn(&str) -> bool) -> bool {
    let Some((suffix, end)) = rules.iter().find(|(suffix, _)| word.ends_with(suffix)) else { return false };
    if condition(&word[..word.len() - suffix.len()]) {
        cut(word, suffix.len(), end);
    }
    true
}

fn step_1a(word: &mut String) {
    if word.len() == 4 && word.ends_with("ies") {
        cut(word, 1, "");
        return;
    }
    replace_first(word, &[("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")], |_| true);
}

fn step_1b(word: &mut String) {
    if word.ends_with("ied") {
        let end = if word.len() == 4 { "ie" } else { "i" };
        cut(word, 3, end);
        return;
    }
    if replace_first(word, &[("eed", "ee")], |rest| measure(rest) > 0) {
        return;
    }
    let removed = ["ed", "ing"].into_iter().find_map(|it| word.strip_suffix(it).filter(|rest| has_vowel(rest)));
    let Some(rest) = removed.map(str::len) else { return };
    word.truncate(rest);
    if ["at", "bl", "iz"].iter().any(|it| word.ends_with(it)) {
        word.push('e');
    } else if ends_in_doubled_consonant(word) {
        if !word.ends_with(['l', 's', 'z']) {
            word.pop();
        }
    } else if measure(word) == 1 && ends_short(word) {
        word.push('e');
    }
}

fn step_1c(word: &mut String) {
    replace_first(word, &[("y", "i")], |rest| rest.len() > 1 && ends_in_consonant(rest));
}

fn step_2(word: &mut String) {
    // NLTK repeats step 2 after this suffix. Each repetition removes two letters.
    while word.strip_suffix("alli").is_some_and(|rest| measure(rest) > 0) {
        cut(word, 2, "");
    }
    if !replace_first(word, &STEP_2, |rest| measure(rest) > 0) && word.ends_with("logi") {
        // NLTK counts the `l` of the suffix as part of the rest of the word.
        if measure(&word[..word.len() - 3]) > 0 {
            cut(word, 1, "");
        }
    }
}

fn step_4(word: &mut String) {
    let Some(suffix) = STEP_4.iter().find(|it| word.ends_with(**it)) else { return };
    let rest = &word[..word.len() - suffix.len()];
    if measure(rest) > 1 && (*suffix != "ion" || rest.ends_with(['s', 't'])) {
        cut(word, suffix.len(), "");
    }
}

fn step_5(word: &mut String) {
    if let Some(rest) = word.strip_suffix('e') {
        let kept = match measure(rest) {
            0 => true,
            1 => ends_short(rest),
            _ => false,
        };
        if !kept {
            word.pop();
        }
    }
    if word.ends_with("ll") && measure(&word[..word.len() - 1]) > 1 {
        word.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: &str) {
        assert_eq!(stem(word), expected, "{word}");
    }

    #[test]
    fn words_are_stemmed_as_nltk_does() {
        check("caresses", "caress");
        check("ties", "tie");
        check("ponies", "poni");
        check("died", "die");
        check("agreed", "agre");
        check("hopping", "hop");
        check("falling", "fall");
        check("filing", "file");
        check("enjoy", "enjoy");
        check("happy", "happi");
        check("geology", "geolog");
        check("relational", "relat");
        check("triplicate", "triplic");
        check("adoption", "adopt");
        check("controlling", "control");
    }

    #[test]
    fn irregular_and_short_words_stay() {
        check("news", "news");
        check("skies", "sky");
        check("as", "as");
        check("", "");
    }

    #[test]
    fn digits_are_consonants_and_other_characters_end_the_matter() {
        check("12able", "12abl");
        check("caf\u{e9}s", "caf\u{e9}s");
    }

    #[test]
    fn a_long_word_takes_linear_time() {
        let word = "y".repeat(1 << 20);
        assert_eq!(stem(&word).len(), word.len());
    }
}
