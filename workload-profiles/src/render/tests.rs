use proptest::prelude::*;

use super::*;
use crate::variables::tests::with;

fn check(template: &str, user: &[&str], expected: &str) {
    assert_eq!(
        render(template, &with("m", user).unwrap()).map_err(|it| it.to_string()),
        Ok(expected.into()),
        "{template}"
    );
}

fn check_error(template: &str, user: &[&str], expected: &str) {
    let error = render(template, &with("m", user).unwrap()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}\nlacks\n{expected}");
}

/// Whether a template was rendered to a bounded text, or refused with a problem.
fn is_bounded(rendered: &Result<String, ProfileError>) -> bool {
    match rendered {
        Ok(text) => text.len() <= MAX_TEXT_BYTES,
        Err(error) => !error.problems.is_empty(),
    }
}

#[test]
fn variables_and_their_defaults_are_filled_in() {
    check("{{ model }} {{ endpoint }} {{ seed }}", &[], "m http://server:8000 42");
    check("{{ isl | default(value=384) }}", &[], "384");
    check("{{ isl | default(value=384) }}", &["isl=100"], "100");
    check("{{ isl | default(value=384) * 2 // 3 }}", &["isl=30"], "20");
    check("{% if chat is defined %}chat{% else %}completion{% endif %}", &[], "completion");
}

#[test]
fn a_value_prints_as_it_was_written() {
    for text in ["1.50", "007", "1e3", "yes", "True", "+5", "99999999999999999999", "x # y", ""] {
        check("{{ v }}", &[&format!("v={text}")], text);
    }
}

#[test]
fn a_value_that_looks_like_a_number_can_be_reckoned_with() {
    check("{{ v + 1 }}", &["v=2"], "3");
    check("{{ v * 2 }}", &["v=1.5"], "3.0");
    check("{% if v %}on{% endif %}", &["v=false"], "");
    check_error(
        "{{ v * 2 }}",
        &["v=two"],
        "template, line 1: Math operations can only be done on numbers, found `string`, in \"",
    );
}

#[test]
fn loops_run_over_lists() {
    check("{% for r in rates | default(value=[1, 2]) %}{{ r }};{% endfor %}", &[], "1;2;");
    check("{% for r in rates | default(value=[1, 2]) %}{{ r }};{% endfor %}", &["rates=[4, 8.5, x]"], "4;8.5;x;");
    check("{% for r in range(start=1, end=8, step_by=3) -%} {{ r }};{%- endfor %}", &[], "1;4;7;");
    check("{% for r in [1] if true else [2] %}{{ loop.index }}{% endfor %}", &[], "1");
    check_error("{% for c in 'abc' %}{% endfor %}", &[], "a loop runs over a list, and this is a string");
}

#[test]
fn both_syntaxes_may_be_mixed() {
    check("{{ isl }} REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL", &["isl=5"], "5 m");
    check("REPLACE_ENV_PVC", &["PVC={{ seed }}"], "{{ seed }}");
}

#[test]
fn a_model_that_is_not_known_yet_is_empty() {
    let variables = with("", &[]).unwrap();
    let template = "a: {{ model }}\nb: REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_TOKENIZER\n";
    assert_eq!(render(template, &variables).unwrap(), "a: \nb: \n");
}

#[test]
fn every_unknown_and_every_unused_variable_is_named() {
    let error = render("{{ isll }} {{ oslx.a }} {{ rate | default(value=1) }}", &with("m", &["ratee=2"]).unwrap());
    assert_eq!(
        error.unwrap_err().to_string(),
        "template: uses the variable isll, which has no value; set profile.variables.isll, or give it a default: \
         {{ isll | default(value=1) }}; known are endpoint, model, name, namespace, ratee, seed and tokenizer\n\
         template: uses the variable oslx, which has no value; set profile.variables.oslx, or give it a default: \
         {{ oslx | default(value=1) }}; known are endpoint, model, name, namespace, ratee, seed and tokenizer\n\
         profile.variables.ratee: is not used by the profile; did you mean rate?"
    );
}

#[test]
fn what_has_no_bound_is_refused() {
    for (template, expected) in [
        ("{% set a = 1 %}", "line 1: the tag set is not available in a profile"),
        ("\n{%- include 'x' %}", "line 2: the tag include is not available"),
        ("{% macro a() %}", "the tag macro is not available"),
        ("{% raw %}{% endraw %}", "the tag raw is not available"),
        ("{%raw%}{% for", "the tag raw is not available"),
        ("{% %}", "the tag \"\" is not available"),
        ("{% component A() %}{% endcomponent %}", "the tag component is not available"),
        ("{{ seed ~ seed }}", "the operator ~ is not available"),
        ("{{ [x for x in [1]] }}", "a list comprehension is not available"),
        ("{% for x in [y for y in [1]] %}{% endfor %}", "a list comprehension is not available"),
        ("{{ name | replace(from='c', to=name) }}", "the filter replace is not available"),
        ("{{ name |benchwright_counted }}", "the filter benchwright_counted is not available"),
        ("{{ get_env(name='HOME') }}", "the function get_env is not available"),
        ("{% for x in [1]) or ([2] %}{% endfor %}", "closes a bracket that is not open"),
        ("{% for x, y, z in [1] %}{% endfor %}", "a loop is written"),
        ("{{ name", "the tag that begins with {{ has no end"),
        ("{{ 'a }}", "the tag that begins with {{ has no end"),
        ("{# a", "the tag that begins with {# has no end"),
    ] {
        check_error(template, &[], expected);
    }
}

#[test]
fn a_loop_that_does_not_end_soon_is_an_error() {
    let budget = "run for more than 1024 steps";
    check_error("{% for a in range(end=1000000000000) %}{% endfor %}", &[], budget);
    check_error("{% for a in range(start=-9223372036854775807, end=9223372036854775807) %}{% endfor %}", &[], budget);
    let nested = |depth: usize, list: &str| {
        let open: String = (0..depth).map(|it| format!("{{% for v{it} in {list} %}}")).collect();
        format!("{open}{}", "{% endfor %}".repeat(depth))
    };
    // Loops count against the budget even if they produce no output.
    check_error(&nested(2, "range(end=100)"), &[], budget);
    check_error(&nested(20, "[1, 2, 3]"), &[], budget);
    check_error(&nested(20, "list"), &["list=[1, 2, 3]"], budget);
    check_error(
        &nested(3, "[[]] or range(end=2) if false else list"),
        &[&format!("list=[{}]", "1,".repeat(99))],
        budget,
    );
}

#[test]
fn a_text_that_does_not_end_soon_is_an_error() {
    let text = "x".repeat(1000);
    check_error(&format!("{{% for a in range(end=500) %}}{text}{{% endfor %}}"), &[], "more than 262144 bytes");
    check_error(&"x".repeat(300_000), &[], "has 300000 bytes; at most 262144 are read");
    check_error(&"{{ 1 }}".repeat(10_000), &[], "has more than 8192 bytes of code in its tags; shorten it");
}

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    check_error(&format!("{{{{ {}1{} }}}}", "(".repeat(5_000), ")".repeat(5_000)), &[], "template");
    check_error(&"{% if true %}".repeat(1_000), &[], "template");
    check_error(&format!("{{{{ {}1 }}}}", "-".repeat(5_000)), &[], "template");
    check_error(&format!("{{{{ {}true }}}}", "not ".repeat(3_000)), &[], "template");
}

#[test]
fn signs_inside_quotes_and_comments_are_no_code() {
    check("{{ '}} ~ | replace' }}", &[], "}} ~ | replace");
    check("{{ \"a \\\" }}\" }}", &[], "a \" }}");
    check("{# ~ {{ {% set #}x", &[], "x");
    check("a: {b: {c: 1}} {", &[], "a: {b: {c: 1}} {");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn no_template_makes_the_renderer_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "{{", "}}", "{%", "%}", "{#", "#}", "-", " ", "\n", "for ", "in ", "x", "seed", "name", "if ", "else", "endif",
                "endfor", "elif ", "[1, 2]", "[", "]", "(", ")", "|", "default(value=1)", "range(end=3)", "'", "\"", "`", "\\", "~",
                "loop.index", ".", "?.", "...", "<", "</", ">", "/", "==", "**", "*", "+", "9223372036854775807", "1.5", "is ",
                "defined", "not ", "and ", "raw", "set ", "{", "}", ":", ",", "ü", "REPLACE_ENV_", "++++default=", "int", "round",
                "break", "continue", "length", "super()", "throw(message='x')", "@", "%",
            ]),
            0..24,
        ),
        user in "[a-z\\[\\], 0-9.]{0,12}",
    ) {
        let template = parts.concat();
        if let Ok(variables) = with("m", &[&format!("x={user}")]) {
            let rendered = render(&template, &variables);
            prop_assert!(is_bounded(&rendered), "{template}: {rendered:?}");
        }
    }

    #[test]
    fn no_code_makes_the_renderer_panic(
        code in prop::collection::vec(
            prop::sample::select(vec![
                "x", "seed", "1", "0", "1.5", "'a'", "[", "]", "(", ")", "|", "default(value=1)", "int", "round(precision=400)", "abs",
                "first", "length", "-", "+", "*", "**", "//", "%", "/", "==", "<", " in ", " not ", " if ", " else ", " and ", " is defined",
                " is divisible_by(divisor=0)", ".a", "[0]", "[::-1]", "?.", ",", "{", "}", ":", "range(end=3)", "9223372036854775807",
                "<x", "/>", "...", "trim(pat='')", "upper", " is containing(pat='')", "float",
            ]),
            0..10,
        ),
    ) {
        let code = code.concat();
        for template in [format!("{{{{ {code} }}}}"), format!("{{% for a in {code} %}}{{{{ a }}}}{{% endfor %}}")] {
            let rendered = render(&template, &with("m", &["x=[1, a, 2.5]"]).unwrap());
            prop_assert!(is_bounded(&rendered), "{template}: {rendered:?}");
        }
    }
}
