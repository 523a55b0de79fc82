//! Tests features that templates of published models use, and attacks of hostile templates.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use chat_template::{Chat, ChatTemplate, ChatTemplateError, MAX_OUTPUT, MAX_TEMPLATE};
use jiff::civil::date;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn rendered(template: &str, variables: Value) -> Result<String, ChatTemplateError> {
    let variables = variables.as_object().cloned().unwrap_or_default();
    let chat = Chat {
        messages: &json!([{"role": "user", "content": "Hi"}]),
        tools: None,
        documents: None,
        add_generation_prompt: true,
        variables: &variables,
        now: Some(date(2026, 2, 3).at(4, 5, 6, 0)),
    };
    ChatTemplate::parse(template)?.render(&chat)
}

#[track_caller]
fn check(template: &str, variables: Value, expected: &str) {
    assert_eq!(rendered(template, variables).as_deref(), Ok(expected), "{template}");
}

#[track_caller]
fn assert_fails(template: &str, expected: &str) {
    let error = rendered(template, json!({"deep": deep(300)})).unwrap_err().to_string();
    assert!(error.contains(expected), "{template}: {error}");
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn json_is_that_of_python() {
    // The expected texts are the results of json.dumps(v, ensure_ascii=False, ...) in Python 3.11.
    let check = |arguments: &str, value: Value, expected: &str| {
        check(&format!("{{{{ v|tojson{arguments} }}}}"), json!({"v": value}), expected);
    };
    check("", json!({"b": [1, -2.5, true, null], "a": {}}), r#"{"b": [1, -2.5, true, null], "a": {}}"#);
    check("", json!("<é & 'x'> \"\\\u{7f}\u{1}\n\u{1f600}"), "\"<é & 'x'> \\\"\\\\\u{7f}\\u0001\\n\u{1f600}\"");
    check("(ensure_ascii=true)", json!("é\u{1f600}"), r#""\u00e9\ud83d\ude00""#);
    check("(indent=2)", json!({"a": [1, {}], "b": []}), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
    check("(indent=0)", json!([1, 2]), "[\n1,\n2\n]");
    check("(indent='\t')", json!([1]), "[\n\t1\n]");
    check("(separators=(',', ':'))", json!({"a": [1, 2]}), r#"{"a":[1,2]}"#);
    check("(sort_keys=true)", json!({"b": 1, "a": 2}), r#"{"a": 2, "b": 1}"#);
    check("", json!([1e22, 0.00001, 100.0, 12345678901234567890u64]), "[1e+22, 1e-05, 100.0, 12345678901234567890]");
}

#[test]
fn tokens_and_the_like_are_variables() {
    check("{{ bos_token }}{{ messages[0].content }}|{{ x is defined }}", json!({"bos_token": "<s>"}), "<s>Hi|False");
    check("{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}", json!({}), "TrueTrueTrue");
    // The variables of the user override built-in ones.
    check("{{ add_generation_prompt }}{{ a.b }}", json!({"add_generation_prompt": false, "a": {"b": 1}}), "False1");
}

#[test]
fn white_space_goes_as_transformers_sets_it() {
    check("{% for m in messages %}\n  {% if true %}\n x{% endif %}\n{% endfor %}\n", json!({}), " x");
}

#[test]
fn methods_of_python_are_there() {
    check("{{ 'a/b/c'.rsplit('/', 1)|join('|') }}", json!({}), "a/b|c");
    check("{{ 'a b'.rsplit()|join('|') }}{{ 'ab'.removeprefix('a') }}{{ 'ab'.removesuffix('b') }}", json!({}), "a|bba");
    check(
        "{{ 'a=b=c'.partition('=')|join('|') }} {{ 'a=b=c'.rpartition('=')|join('|') }}",
        json!({}),
        "a|=|b=c a=b|=|c",
    );
    check("{{ 'x'.partition('=')[0] }}{{ 'x'.rpartition('=')[2] }}", json!({}), "xx");
    check("{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}", json!({"d": {"b": 1, "a": 2}}), "b1a2");
    check("{% for i in [1,2,3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", json!({}), "1");
    check("{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}", json!({}), "Hi");
}

#[test]
fn the_time_is_that_of_the_caller() {
    check("{{ strftime_now('%d %b %Y') }}", json!({}), "03 Feb 2026");
    let chat = Chat {
        messages: &json!([]),
        tools: None,
        documents: None,
        add_generation_prompt: false,
        variables: &Map::new(),
        now: None,
    };
    let error = ChatTemplate::parse("{{ strftime_now('%d') }}").unwrap().render(&chat).unwrap_err().to_string();
    assert!(error.contains("the template asks for the time, and there is none"), "{error}");
}

#[test]
fn what_a_template_raises_is_told_apart() {
    let raised = |template: &str| rendered(template, json!({})).unwrap_err();
    assert_eq!(raised("{{ raise_exception('no tools') }}"), ChatTemplateError::Raised("no tools".into()));
    let within = "{% macro m() %}{{ raise_exception('inner') }}{% endmacro %}{{ m() }}";
    assert_eq!(raised(within), ChatTemplateError::Raised("inner".into()));
    assert_fails("a\n{{ messages[0].content.nothing.more }}", "fails in line 2: undefined value");
    assert_fails("{{ 'a'.partition('') }}", "empty separator");
}

#[test]
fn what_is_no_template_is_refused_with_its_line() {
    for (template, line) in [("{% if %}", 1), ("a\n{{ ", 2), ("{% include 'x' %}", 1), ("{% nothing %}", 1)] {
        let error = ChatTemplate::parse(template).unwrap_err();
        assert!(
            matches!(error, ChatTemplateError::Syntax { line: Some(it), .. } if it == line),
            "{template}: {error:?}"
        );
        assert!(error.to_string().ends_with("give the one that the model is published with"), "{error}");
    }
    let long = ChatTemplate::parse(&"x".repeat(MAX_TEMPLATE + 1)).unwrap_err();
    assert_eq!(long, ChatTemplateError::TooLong { bytes: MAX_TEMPLATE + 1 });
}

#[test]
fn work_and_output_have_bounds() {
    let endless = [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='0123456789abcdef') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
        "{% macro m(x) %}{% for i in range(1000) %}{{ m(x) }}{% endfor %}{% endmacro %}{{ m(1) }}",
        "{% for i in range(99999) %}{{ 'x' * 99999 }}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}",
    ];
    for template in endless {
        let error = rendered(template, json!({})).unwrap_err();
        let is_bounded = match &error {
            ChatTemplateError::TooMuch => true,
            ChatTemplateError::Failed { reason, .. } => reason.contains("recursion") || reason.contains("nested"),
            _ => false,
        };
        assert!(is_bounded, "{template}: {error:?}");
    }
    assert_fails("{{ deep|tojson }}", "nested more than 200 deep");
    let long = format!("{{{{ 'x' * {} }}}}", MAX_OUTPUT + 1);
    assert_eq!(rendered(&long, json!({})), Err(ChatTemplateError::TooMuch));
}

#[test]
fn a_long_chat_is_within_the_bounds() {
    let turns: Vec<Value> = (0..2_000)
        .map(|it| json!({"role": if it % 2 == 0 { "user" } else { "assistant" }, "content": "word ".repeat(100)}))
        .collect();
    let template = "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] | trim }}<|end|>{% endfor %}";
    let chat = Chat {
        messages: &Value::Array(turns),
        tools: None,
        documents: None,
        add_generation_prompt: false,
        variables: &Map::new(),
        now: None,
    };
    let text = ChatTemplate::parse(template).unwrap().render(&chat).unwrap();
    assert_eq!(text.matches("<|end|>").count(), 2_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_makes_the_template_fail_other_than_by_an_error(
        parts in prop::collection::vec(
            prop_oneof![
                Just("{{ "), Just(" }}"), Just("{% "), Just(" %}"), Just("{%-"), Just("-%}"), Just("messages"),
                Just("for m in "), Just("endfor"), Just("if "), Just("endif"), Just("generation"), Just("endgeneration"),
                Just("[0]"), Just(".content"), Just("|tojson"), Just("|trim"), Just("'é'"), Just("\n"), Just("{#"), Just("#}"),
            ],
            0..12,
        )
    ) {
        let template = parts.concat();
        if let Err(error) = rendered(&template, json!({})) {
            prop_assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
