use crate::redact;

fn assert_hidden(line: &str, expected: &str) {
    assert_eq!(redact::quote(line), expected);
}

#[test]
fn secrets_are_blacked_out_by_name_and_by_form() {
    assert_hidden("token=abc, port=8", "token=<redacted>, port=8");
    assert_hidden("{'api_key': ['a', 'b'], 'port': 1}", "{'api_key': <redacted>, 'port': 1}");
    assert_hidden("run --api-key abc --port 8", "run --api-key <redacted> --port 8");
    assert_hidden("HF_TOKEN: \"abc def\" x", "HF_TOKEN: \"<redacted>\" x");
    assert_hidden("Authorization: Bearer abc.def-1", "Authorization: <redacted>");
    assert_hidden("header Bearer abc.def", "header Bearer <redacted>");
    assert_hidden("cannot use hf_abcdefghijklmnopqrst for x", "cannot use <redacted> for x");
    assert_hidden("sk-0123456789abcdef0123", "<redacted>");
    assert_hidden("get https://me:pw@host/a failed", "get https://<redacted>@host/a failed");
}

#[test]
fn other_words_stay() {
    for line in [
        "max_tokens=8192 is too large",
        "hf_config is None",
        "AuthenticationError: no such user",
        "sk-learn",
        "tokenizer: a",
        "a key and a token",
    ] {
        assert_hidden(line, line);
    }
}

#[test]
fn a_quote_is_one_short_line() {
    assert_hidden("  a\u{7}b\tc  ", "a b c");
    assert_eq!(redact::quote(&"ü".repeat(1000)).len(), redact::MAX_QUOTE);
}
