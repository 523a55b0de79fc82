//! Configuration files of LoadGen: the built-in mlperf.conf, user.conf and audit.config. They are read as LoadGen reads them.
//!
//! A line is `model.scenario.name = value`, with blanks around `=`. `*` means any model or any scenario. A line that LoadGen ignores without a
//! message, or reads in an unexpected way, has the same effect here and causes a [`Remark`].

mod keys;
mod number;

use std::collections::BTreeMap;

use super::{Scenario, Settings};
use crate::problem::quoted;
pub(crate) use keys::{KEYS, SettingType};

/// The type of a file. LoadGen calls it `conf_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfFile {
    /// mlperf.conf, type 0. Only this file can set the seeds of the round.
    MlperfConf,
    /// user.conf, type 1.
    UserConf,
    /// audit.config, type 2. Only its lines for all models are used.
    AuditConfig,
}

impl ConfFile {
    /// The name of the file.
    pub fn name(self) -> &'static str {
        match self {
            ConfFile::MlperfConf => "mlperf.conf",
            ConfFile::UserConf => "user.conf",
            ConfFile::AuditConfig => "audit.config",
        }
    }
}

/// A configuration file that cannot be applied. The settings are then unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfError {
    /// The file does not exist.
    #[error("{} does not exist; write it, or leave it out", file.name())]
    Missing {
        /// The file that is missing.
        file: ConfFile,
    },
    /// Lines of a file that cannot be read.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Lines(Vec<LineError>),
}

impl ConfError {
    /// The return value of LoadGen's `FromConfig` for this error.
    pub fn return_code(&self) -> i32 {
        match self {
            ConfError::Missing { .. } => -2,
            ConfError::Lines(_) => -22,
        }
    }
}

/// A line that cannot be read, or whose effect may surprise its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}, line {line}: {} {message}", file.name(), quoted(text))]
pub struct LineError {
    /// The file with the line.
    pub file: ConfFile,
    /// The number of the line, from 1.
    pub line: usize,
    /// The line, trimmed.
    pub text: String,
    /// What is wrong, and what to do.
    pub message: String,
}

/// A line that LoadGen accepts, but whose effect may surprise its author.
pub type Remark = LineError;

/// Applies the text of a file to the settings of a model in a scenario, like LoadGen's `FromConfig`. `text` is `None` if the file cannot be opened.
/// Each file needs a call of its own, including the built-in one.
///
/// # Errors
/// Returns an error for a file that cannot be read. The settings are then unchanged.
pub fn apply_config(
    file: ConfFile,
    text: Option<&str>,
    model: &str,
    scenario: Scenario,
    settings: &mut Settings,
) -> Result<Vec<Remark>, ConfError> {
    let mut conf = Conf::read(file, text.ok_or(ConfError::Missing { file })?)?;
    let model = if file == ConfFile::AuditConfig { "*" } else { model };
    conf.apply(model, scenario, settings);
    let unread = conf.unread(model, scenario, settings);
    conf.remarks.extend(unread);
    Ok(conf.remarks)
}

/// The content of a file.
pub(crate) struct Conf {
    file: ConfFile,
    /// For each key, the last line that sets it.
    entries: BTreeMap<String, Entry>,
    remarks: Vec<Remark>,
}

struct Entry {
    line: usize,
    text: String,
    value: String,
}

impl Conf {
    fn read(file: ConfFile, text: &str) -> Result<Conf, ConfError> {
        let mut conf = Conf { file, entries: BTreeMap::new(), remarks: Vec::new() };
        let mut errors = Vec::new();
        for (index, text) in text.split('\n').enumerate() {
            let remark = |message: String| LineError { file, line: index + 1, text: text.trim().to_owned(), message };
            match line(text) {
                Line::Nothing => {}
                Line::Ignored(message) => conf.remarks.push(remark(message)),
                Line::Wrong(message) => errors.push(remark(message)),
                Line::Entry { key, value, more } => {
                    if more {
                        conf.remarks
                            .push(remark(format!("has several values, of which the last one is used, {value}")));
                    }
                    let entry = Entry { line: index + 1, text: text.trim().to_owned(), value: value.to_owned() };
                    if conf.entries.insert(key.to_owned(), entry).is_some() {
                        conf.remarks.push(remark(format!("sets {key} again; this line is used, delete the other one")));
                    }
                    conf.remarks.extend(keys::remark(file, key, value).map(remark));
                }
            }
        }
        if errors.is_empty() { Ok(conf) } else { Err(ConfError::Lines(errors)) }
    }

    /// Returns the line that sets a setting. Lines for one scenario or one model take precedence over lines for all.
    fn find(&self, model: &str, scenario: Scenario, name: &str) -> Option<&Entry> {
        let scenario = scenario.name();
        let keys = [(model, scenario), ("*", scenario), (model, "*"), ("*", "*")];
        keys.iter().find_map(|(model, scenario)| self.entries.get(&format!("{model}.{scenario}.{name}")))
    }

    /// Returns a remark for each line that LoadGen does not use because another setting disables it.
    fn unread(&self, model: &str, scenario: Scenario, settings: &Settings) -> Vec<Remark> {
        let tokens = ("use_token_latencies", settings.use_token_latencies || scenario != Scenario::Server);
        let infer = ("infer_token_latencies", settings.infer_token_latencies);
        let remark = |(name, (switch, is_on)): (&str, (&str, bool))| {
            let Entry { line, text, .. } = self.find(model, scenario, name).filter(|_| !is_on)?;
            let message = format!("is ignored: {name} is used only when {switch} is on; set {switch} to 1 as well");
            Some(LineError { file: self.file, line: *line, text: text.clone(), message })
        };
        let names = [("ttft_latency", tokens), ("tpot_latency", tokens), ("token_latency_scaling_factor", infer)];
        names.into_iter().filter_map(remark).collect()
    }
}

/// A line, as LoadGen reads it.
enum Line<'a> {
    /// An empty line, or a comment.
    Nothing,
    /// A line that LoadGen ignores, with the reason.
    Ignored(String),
    /// A line for which LoadGen refuses the file, with the reason and the remedy.
    Wrong(String),
    Entry {
        key: &'a str,
        value: &'a str,
        more: bool,
    },
}

fn line(text: &str) -> Line<'_> {
    // White space as defined by C's `isspace`.
    let mut tokens = text.split([' ', '\t', '\r', '\x0b', '\x0c']).filter(|it| !it.is_empty());
    let Some(key) = tokens.next().filter(|it| *it != "#") else { return Line::Nothing };
    match tokens.next() {
        None if key.starts_with('#') => return Line::Nothing,
        None | Some("#") => {
            let remedy = if key.contains('=') { "write blanks around =" } else { "write `key = value`" };
            return Line::Ignored(format!("is ignored, because it has no = between blanks; {remedy}"));
        }
        Some("=") => {}
        Some(found) => {
            let remedy = match () {
                () if key.starts_with('#') => "write a blank after the # of a comment".to_owned(),
                () if key.contains('=') || found.starts_with('=') => "write blanks around =".to_owned(),
                () => "write `key = value`".to_owned(),
            };
            return Line::Wrong(format!("has {} where = is expected; {remedy}", quoted(found)));
        }
    }
    let mut last = None;
    let mut more = false;
    for value in tokens {
        if value.starts_with('#') {
            return Line::Wrong(
                "has a comment after its value, for which LoadGen refuses the whole file; \
                 write the comment on a line of its own"
                    .to_owned(),
            );
        }
        if number::integer(value).1 != value.len() && number::real(value).1 != value.len() {
            return Line::Wrong(format!("has the value {}, which is not a number; write one", quoted(value)));
        }
        more = last.replace(value).is_some();
    }
    match last {
        // LoadGen reads `#text = 5` as a key with an unknown name.
        Some(_) if key.starts_with('#') => Line::Nothing,
        Some(value) => Line::Entry { key, value, more },
        None => Line::Ignored("is ignored, because it has no value; write one, or delete the line".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks the remarks about a user.conf, or its errors, one per line.
    fn check(text: &str, expected: Result<&[&str], &str>) {
        let mut settings = Settings::default();
        let read = apply_config(ConfFile::UserConf, Some(text), "llama3_1-8b", Scenario::Server, &mut settings);
        let read = read.map(|it| it.iter().map(ToString::to_string).collect::<Vec<_>>());
        if read.is_err() {
            assert_eq!(settings, Settings::default());
        }
        let read = read.map_err(|it| it.to_string());
        assert_eq!(
            read.as_deref().map_err(String::as_str),
            expected.map(|it| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).as_deref().map_err(|it| *it)
        );
    }

    #[test]
    fn a_line_that_loadgen_refuses_is_told_with_its_remedy() {
        check(
            "# fine\n*.Server.target_qps = 2 # two\n",
            Err(
                "user.conf, line 2: \"*.Server.target_qps = 2 # two\" has a comment after its value, for which LoadGen \
                 refuses the whole file; write the comment on a line of its own",
            ),
        );
        check(
            "*.Server.target_qps 5\n*.Server.target_qps =5\n#a comment\n*.Server.target_qps = fast",
            Err("user.conf, line 1: \"*.Server.target_qps 5\" has \"5\" where = is expected; write `key = value`\n\
                 user.conf, line 2: \"*.Server.target_qps =5\" has \"=5\" where = is expected; write blanks around =\n\
                 user.conf, line 3: \"#a comment\" has \"comment\" where = is expected; write a blank after the # of a comment\n\
                 user.conf, line 4: \"*.Server.target_qps = fast\" has the value \"fast\", which is not a number; write one"),
        );
    }

    #[test]
    fn what_loadgen_overlooks_is_remarked() {
        check("*.Server.target_qps = 2\n\n  # indented\n#one\n#two = 5\n", Ok(&[]));
        check(
            "*.Server.target_qps=99\n*.Server.min_duration\n*.Server.max_duration =\n*.Server.mode # 5",
            Ok(&[
                "user.conf, line 1: \"*.Server.target_qps=99\" is ignored, because it has no = between blanks; write blanks around =",
                "user.conf, line 2: \"*.Server.min_duration\" is ignored, because it has no = between blanks; write `key = value`",
                "user.conf, line 3: \"*.Server.max_duration =\" is ignored, because it has no value; write one, or delete the line",
                "user.conf, line 4: \"*.Server.mode # 5\" is ignored, because it has no = between blanks; write `key = value`",
            ]),
        );
        check(
            "*.Server.target_qps = 2 3\n*.Server.target_qps = 4",
            Ok(&[
                "user.conf, line 1: \"*.Server.target_qps = 2 3\" has several values, of which the last one is used, 3",
                "user.conf, line 2: \"*.Server.target_qps = 4\" sets *.Server.target_qps again; this line is used, delete the other one",
            ]),
        );
    }

    #[test]
    fn a_line_that_other_settings_switch_off_is_remarked() {
        let what = "is ignored: tpot_latency is used only when use_token_latencies is on; set use_token_latencies to 1 as well";
        let limits = "*.Server.tpot_latency = 40\n*.Offline.ttft_latency = 5";
        let offline =
            "user.conf, line 2: \"*.Offline.ttft_latency = 5\" is ignored: ttft_latency is a setting of Server";
        check(limits, Ok(&[offline, &format!("user.conf, line 1: \"*.Server.tpot_latency = 40\" {what}")]));
        check(&format!("{limits}\n*.*.use_token_latencies = 1"), Ok(&[offline]));
        let factor = "*.*.token_latency_scaling_factor = 2";
        let what = "is ignored: token_latency_scaling_factor is used only when infer_token_latencies is on; \
                    set infer_token_latencies to 1 as well";
        check(factor, Ok(&[&format!("user.conf, line 1: \"{factor}\" {what}")]));
        check(&format!("{factor}\n*.*.infer_token_latencies = 1"), Ok(&[]));
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error_of_its_own() {
        let mut settings = Settings::default();
        let error = apply_config(ConfFile::UserConf, None, "m", Scenario::Offline, &mut settings).unwrap_err();
        assert_eq!(
            (error.return_code(), error.to_string().as_str()),
            (-2, "user.conf does not exist; write it, or leave it out")
        );
        let error = apply_config(ConfFile::UserConf, Some("a b"), "m", Scenario::Offline, &mut settings).unwrap_err();
        assert_eq!(error.return_code(), -22);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,80}|[-*.a-zS=# 0-9x\n\r\t]{0,120}") {
            let mut settings = Settings::default();
            for file in [ConfFile::MlperfConf, ConfFile::UserConf, ConfFile::AuditConfig] {
                let before = settings.clone();
                if apply_config(file, Some(&text), "m", Scenario::Server, &mut settings).is_err() {
                    prop_assert_eq!(&before, &settings);
                }
            }
        }
    }
}
