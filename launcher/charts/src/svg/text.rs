//! Text in a drawing: the characters that XML allows, and the width of a text.

/// Cleans a text and escapes XML's reserved characters, for an element or a double-quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for it in clean(text).chars() {
        match it {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(it),
        }
    }
    out
}

/// Puts a text on one line. Removes control characters, characters that XML forbids, and characters that change the direction of surrounding text.
pub(crate) fn clean(text: &str) -> String {
    let space = |it| if matches!(it, '\n' | '\t' | '\r') { ' ' } else { it };
    text.chars().map(space).filter(|it| !it.is_control() && !hidden(*it)).collect()
}

fn hidden(it: char) -> bool {
    matches!(it, '\u{fffe}' | '\u{ffff}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Estimates the width of a text in a sans-serif font of this size. The result has the unit of `size` and is rather too wide than too narrow.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|it| advance(it) * size).sum()
}

/// The width of a character for font size 1.
fn advance(it: char) -> f64 {
    match it {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.29,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '/' | '-' | ' ' | '\u{a0}' | '"' => 0.38,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.9,
        'A'..='Z' | '&' | '#' => 0.7,
        _ if it.is_ascii() => 0.58,
        _ if it < '\u{2000}' => 0.65,
        _ => 1.05,
    }
}

/// Cuts a text to a width, with an ellipsis if it was cut. Empty if not even three characters fit.
pub(crate) fn fitted(text: &str, size: f64, most: f64) -> String {
    let ellipsis = 0.9 * size;
    let (mut used, mut cut) = (0.0, None);
    for (index, (at, it)) in text.char_indices().enumerate() {
        if used + ellipsis <= most {
            cut = Some((index, at));
        }
        used += advance(it) * size;
        if used > most {
            return match cut {
                Some((index, at)) if index >= 3 => format!("{}…", text[..at].trim_end()),
                _ => String::new(),
            };
        }
    }
    text.to_owned()
}

/// Wraps a text to lines of at most this width, at spaces. After `lines` lines the text is cut, with an ellipsis.
pub(crate) fn wrapped(text: &str, size: f64, most: f64, lines: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let last = found.len() == lines;
        match found.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            Some(line) if last => {
                let rest: Vec<&str> = words.by_ref().collect();
                *line = fitted(&format!("{line} {word} {}", rest.join(" ")), size, most);
            }
            _ => found.push(fitted(word, size, most)),
        }
    }
    found
}
