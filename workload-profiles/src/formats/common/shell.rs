//! Splits the text of a shell script into the words of its commands, with the values of its variables. Nothing is run.

use std::{collections::BTreeMap, iter::Peekable, str::Chars};

use crate::{problem::quoted, yaml::MAX_TEXT_BYTES};

/// Outside quotes, these characters make a shell do more than run one program.
const OPERATORS: [char; 8] = ['|', '&', ';', '<', '>', '(', ')', '`'];

/// The reason why a text cannot be split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShellError {
    #[error("has a quote {quote} that does not end, in {word}; close it")]
    OpenQuote { quote: char, word: String },
    #[error(
        "has {operator} in {word}, with which a shell does more than run one program; put the word in single quotes, or take it out"
    )]
    Operator { operator: char, word: String },
    #[error(
        "holds ${name}, which has no value here; write {name}=value on a line before the command, or the value itself"
    )]
    Unset { name: String },
    #[error("holds {found}, and of the shell's variables only $NAME and ${{NAME}} are read; write the value")]
    Expansion { found: String },
    #[error("has more than {MAX_TEXT_BYTES} bytes with the values of its variables; shorten it")]
    TooLong,
}

/// A script, read command by command.
pub(in crate::formats) struct Shell<'a> {
    letters: Peekable<Chars<'a>>,
    variables: BTreeMap<String, String>,
    /// Total bytes of expanded variables. They are bounded, because nested variables can grow exponentially: each can contain the previous one twice.
    expanded: usize,
}

impl<'a> Shell<'a> {
    pub fn new(text: &'a str) -> Shell<'a> {
        Shell { letters: text.chars().peekable(), variables: BTreeMap::new(), expanded: 0 }
    }

    /// Sets a variable for the commands that follow.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Returns the words of the next command. `None` at the end. Quotes and backslashes have their POSIX meaning, and `#` at the start of a word
    /// begins a comment. A line that begins with a dash continues the previous line's command, even if the backslash at the end of that line was
    /// lost.
    pub fn next_command(&mut self) -> Result<Option<Vec<String>>, ShellError> {
        let mut words = Vec::new();
        // The word that is being read. `None` between two words.
        let mut word: Option<String> = None;
        while let Some(letter) = self.letters.next() {
            match letter {
                '\'' | '"' => self.quote(letter, word.get_or_insert_default())?,
                '\\' => match self.letters.next() {
                    // A backslash before a line break: the next line continues this one.
                    Some('\n') => {}
                    Some('\r') if self.letters.peek() == Some(&'\n') => drop(self.letters.next()),
                    Some(it) => word.get_or_insert_default().push(it),
                    None => {}
                },
                '$' => {
                    let value = self.variable()?;
                    for it in value.chars() {
                        match it.is_whitespace() {
                            true => words.extend(word.take()),
                            false => word.get_or_insert_default().push(it),
                        }
                    }
                }
                '#' if word.is_none() => while self.letters.next_if(|it| *it != '\n').is_some() {},
                '\n' => {
                    words.extend(word.take());
                    while let Some(it) = self.letters.next_if(|it| it.is_whitespace() || *it == '#') {
                        if it == '#' {
                            while self.letters.next_if(|it| *it != '\n').is_some() {}
                        }
                    }
                    if !words.is_empty() && self.letters.peek() != Some(&'-') {
                        return Ok(Some(words));
                    }
                }
                it if it.is_whitespace() => words.extend(word.take()),
                operator if OPERATORS.contains(&operator) => {
                    let mut word = word.unwrap_or_default();
                    word.push(operator);
                    word.extend(self.letters.by_ref().take_while(|it| !it.is_whitespace()));
                    return Err(ShellError::Operator { operator, word: quoted(&word) });
                }
                it => word.get_or_insert_default().push(it),
            }
        }
        words.extend(word);
        Ok(Some(words).filter(|it| !it.is_empty()))
    }

    /// Reads the rest of a quoted text.
    fn quote(&mut self, quote: char, word: &mut String) -> Result<(), ShellError> {
        loop {
            match self.letters.next() {
                None => return Err(ShellError::OpenQuote { quote, word: quoted(word) }),
                Some(it) if it == quote => return Ok(()),
                Some('\\') if quote == '"' => match self.letters.next() {
                    Some('\n') => {}
                    Some(it) if "\"\\$`".contains(it) => word.push(it),
                    Some(it) => word.extend(['\\', it]),
                    None => word.push('\\'),
                },
                Some('$') if quote == '"' => word.push_str(&self.variable()?),
                Some(it) => word.push(it),
            }
        }
    }

    /// Expands a `$` that was just read: returns the variable's value, or the `$` itself.
    fn variable(&mut self) -> Result<String, ShellError> {
        let is_name = |it: &char| it.is_ascii_alphanumeric() || *it == '_';
        let braced = self.letters.next_if_eq(&'{').is_some();
        let mut name = String::new();
        while let Some(letter) = self.letters.next_if(is_name) {
            name.push(letter);
        }
        let is_plain = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
        if braced && !(is_plain && self.letters.next_if_eq(&'}').is_some()) {
            let rest: String = self.letters.by_ref().take_while(|it| !"}\n".contains(*it)).collect();
            return Err(ShellError::Expansion { found: quoted(&format!("${{{name}{rest}}}")) });
        }
        match is_plain {
            // Keep a `$` at the end of a word, or before `(`. The `(` is then refused as an operator.
            false if name.is_empty() && !matches!(self.letters.peek(), Some('@' | '*' | '#' | '?' | '!' | '$')) => {
                Ok("$".to_owned())
            }
            false => Err(ShellError::Expansion {
                found: quoted(format!("${name}{}", self.letters.peek().unwrap_or(&' ')).trim()),
            }),
            true => {
                let value = self.variables.get(&name).ok_or(ShellError::Unset { name })?;
                self.expanded += value.len();
                if self.expanded > MAX_TEXT_BYTES { Err(ShellError::TooLong) } else { Ok(value.clone()) }
            }
        }
    }
}

/// Splits an assignment `NAME=value` into its name and its value.
pub(in crate::formats) fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let letters = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let is_name = name.starts_with(|it: char| !it.is_ascii_digit()) && name.chars().all(letters);
    is_name.then_some((name, value))
}
