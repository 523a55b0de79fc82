use proptest::{collection::vec, prelude::*, sample::select};

use super::reference;
use crate::{TEXTS, python, read_bytes, redact};

/// A strategy for parts of lines. Some are texts that the reader looks for, and some are not.
fn part() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&'static str> = TEXTS
        .iter()
        .map(|it| it.1.text)
        .chain([
            "INFO 11-21 02:08:51 [a.py:1] ",
            "(Worker pid=7) ",
            "(pid=",
            "ERROR 12-31 23:59:59.999 [",
            "[2026-02-04 11:30:29 TP0] ",
            "\n",
            "\r",
            "\u{1b}[",
            "{'a': C(b='",
            "LLM engine (v",
            "load_format=",
            "'enable_sleep_mode':",
            "It took 1e400 seconds to fall asleep",
            "█ version 1",
            "Traceback (most recent call last):",
            "ValueError: ",
            "api_key=",
            "Bearer ",
            "https://a@",
            "--- gpu scenario start name:",
            "gpu_uuid='",
            "ü",
        ])
        .collect();
    prop_oneof![
        select(known).prop_map(|it| it.as_bytes().to_vec()),
        vec(any::<u8>(), 0..12),
        "[ -~]{0,12}".prop_map(String::into_bytes)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_log_is_read(parts in vec(part(), 0..60)) {
        let log = parts.concat();
        let found = read_bytes(&log, &reference());
        prop_assert!(found.figures.values().all(|it| it.is_finite() && *it >= 0.0));
        prop_assert!(found.steps.iter().all(|it| it.seconds.is_finite() && it.seconds >= 0.0));
        let text = serde_json::to_string(&found).unwrap();
        prop_assert_eq!(serde_json::from_str::<crate::Startup>(&text).unwrap().steps, found.steps);
    }

    #[test]
    fn any_text_is_quoted_and_parsed(text in "\\PC{0,80}", tail in "[-'\"{}()\\[\\]<>:=, a-z0-9_\\\\]{0,60}") {
        let _ = python::map(&text);
        let _ = python::map(&format!("{{{tail}"));
        let _ = python::call(&format!("a({tail}"));
        let clean = redact::quote(&format!("{text}{tail}"));
        prop_assert!(clean.len() <= redact::MAX_QUOTE);
    }

    #[test]
    fn a_secret_behind_its_name_never_stays(before in "[ !#-&(-~]{0,20}", quote in "['\"]?") {
        let line = format!("{before} api_key={quote}Zx9Zx9Zx9{quote}");
        prop_assert!(!redact::quote(&line).contains("Zx9Zx9"), "{line}");
    }
}
