//! The configuration files of a profile: the mlperf.conf of its `round`, `user_conf`, and `audit` or `audit_config`.

use std::collections::BTreeSet;

use super::{benchmark, mlperf_tests::Reported};
use crate::{
    loadgen::{ConfError, Remark, Round, audit_config, audit_tests},
    problem::{listed, quoted},
    reader::Section,
};

/// An audit.config.
#[derive(Clone, Copy)]
pub(super) struct AuditConfig<'a> {
    /// The profile's key that contains the text or names the test.
    pub key: &'static str,
    pub text: &'a str,
}

/// Reads `round`; Returns `None` if a problem was reported.
pub(super) fn round(root: &Section) -> Option<Round> {
    root.or_default("round", Round::default(), |root, key| {
        let name = root.text(key)?;
        let round = Round::from_name(name);
        if round.is_none() {
            let names = Round::ALL.map(Round::name);
            root.problem(key, format!("is {}; choose one of {}", quoted(name), listed(&names)));
        }
        round
    })
}

/// Reads `audit` and `audit_config`.
pub(super) fn audit<'a>(root: &Section<'a>) -> Result<Option<AuditConfig<'a>>, Reported> {
    let text = root.text("audit_config");
    if root.value("audit").is_none() {
        return Ok(text.map(|text| AuditConfig { key: "audit_config", text }));
    }
    let test = root.text("audit").ok_or(Reported)?;
    if text.is_some() {
        root.problem("audit", "is set, and so is audit_config; keep one of them");
    }
    let Some(text) = audit_config(test) else {
        let names: Vec<&str> = audit_tests().collect();
        root.problem("audit", format!("is {}; choose one of {}", quoted(test), listed(&names)));
        return Err(Reported);
    };
    Ok(Some(AuditConfig { key: "audit", text }))
}

/// Reports the errors in a file, and the lines that LoadGen silently ignores. The messages name the key of the profile with the file's text.
pub(super) fn report(root: &Section, key: &str, applied: Result<Vec<Remark>, ConfError>) {
    match applied {
        Ok(remarks) => remarks.iter().for_each(|it| root.notice(key, it.to_string())),
        Err(ConfError::Lines(lines)) => lines.iter().for_each(|it| root.problem(key, it.to_string())),
        Err(error @ ConfError::Missing { .. }) => root.problem(key, error.to_string()),
    }
}

/// Adds a notice if lines of a user.conf name the model differently from LoadGen, because such lines have no effect.
pub(super) fn check_names(root: &Section, user_conf: &str, model: &str) {
    let models = user_conf.lines().filter_map(|it| it.split_whitespace().next()?.rsplitn(3, '.').nth(2));
    let others: BTreeSet<&str> = models.filter(|it| *it != model && benchmark::canonical(it) == model).collect();
    for other in others {
        root.notice(
            "user_conf",
            format!(
                "has lines for {other}, which LoadGen ignores; write {model}, which is LoadGen's name of the model"
            ),
        );
    }
}
