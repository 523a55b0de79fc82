use proptest::prelude::*;

use super::*;

fn samples(text: &[u8]) -> (Vec<(String, String, f64)>, Counts) {
    let mut found = Vec::new();
    let counts = scan(
        text,
        |_| true,
        |it| {
            found.push((it.name.to_owned(), it.labels.to_owned(), it.value));
            true
        },
    );
    (found, counts)
}

fn check(text: &str, expected: &[(&str, &str, f64)], bad: usize) {
    let (found, counts) = samples(text.as_bytes());
    let found: Vec<_> = found.iter().map(|(name, labels, value)| (name.as_str(), labels.as_str(), *value)).collect();
    assert_eq!((found.as_slice(), counts.bad), (expected, bad), "{text}");
}

/// A text as vLLM writes it.
const TEXT: &str = "# HELP vllm:num_requests_running Number of requests in model execution batches.\n\
    # TYPE vllm:num_requests_running gauge\n\
    vllm:num_requests_running{engine=\"0\",model_name=\"a\\\"b\\\\c}\"} 3.0\n\
    # TYPE vllm:request_success_total counter\n\
    vllm:request_success_total{engine=\"0\",finished_reason=\"stop\",model_name=\"m\"} 8.0\n\
    vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.001\",model_name=\"m\"} 0.0\n\
    vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"+Inf\",model_name=\"m\"} 821.0\n\
    process_cpu_seconds_total 86.34\n";

#[test]
fn samples_have_a_name_labels_and_a_value() {
    check(
        "a 1\nb{x=\"1\"} 2.5e3\nc{} +Inf\nd\t{y=\"}\"}\t-4 \ne_total 3 1700000000\n",
        &[
            ("a", "", 1.0),
            ("b", "x=\"1\"", 2_500.0),
            ("c", "", f64::INFINITY),
            ("d", "y=\"}\"", -4.0),
            ("e_total", "", 3.0),
        ],
        0,
    );
    assert_eq!(samples(TEXT.as_bytes()).1, Counts { samples: 5, unwanted: 0, bad: 0 });
    let (found, _) = samples(b"a NaN\n");
    assert!(found[0].2.is_nan());
}

#[test]
fn exemplars_timestamps_and_what_follows_the_end_are_ignored() {
    check(
        "a_bucket{le=\"1\"} 4 1520879607.789 # {id=\"x\"} 0.67 1520879607.7\n# EOF\nb 1\n",
        &[("a_bucket", "le=\"1\"", 4.0)],
        0,
    );
    check("a 1\r\n# EOF", &[("a", "", 1.0)], 0);
}

#[test]
fn what_cannot_be_read_is_counted_and_the_rest_is_read() {
    check("a one\n1a 1\n{x=\"1\"} 1\nb{x=\"1\" 1\nc\n<html>\nd 1\n", &[("d", "", 1.0)], 6);
    // The last line is skipped, because 12 may be a truncated 1234.
    check("a 1\nb 12", &[("a", "", 1.0)], 1);
    let (found, counts) = samples(b"a{x=\"\xff\"} 1\nb 2\n");
    assert_eq!((found.len(), counts.bad), (1, 1));
}

#[test]
fn unwanted_names_are_skipped_and_reading_can_be_ended() {
    let counts = scan(TEXT.as_bytes(), |it| it.starts_with("vllm:"), |_| true);
    assert_eq!(counts, Counts { samples: 4, unwanted: 1, bad: 0 });
    let counts = scan(TEXT.as_bytes(), |_| true, |_| false);
    assert_eq!(counts.samples, 1);
}

#[test]
fn a_line_is_a_sample_only_with_a_value() {
    let page = "<html>\nvar a = 1;\nfont 12px\nmargin 0 auto\nreturn x\n";
    assert_eq!(scan(page.as_bytes(), |_| false, |_| true), Counts { samples: 0, unwanted: 0, bad: 5 });
    assert_eq!(scan(b"a_total{x=\"1\"} 5\n", |_| false, |_| true), Counts { samples: 0, unwanted: 1, bad: 0 });
}

#[test]
fn a_value_is_found_by_its_whole_name() {
    let text = "# HELP start When.\nstart_ms 1\nstart{a=\"1\"} 2\nstart 1.75e+09\nstart 4\n";
    assert_eq!(value_of(text.as_bytes(), "start"), Some(1.75e9));
    // The number is ignored, because 4 may be a truncated 42.
    assert_eq!((value_of(b"start 4", "start"), value_of(b"start x\n", "start")), (None, None));
}

#[test]
fn a_series_with_a_million_labels_is_no_sample() {
    let all: String = (0..1_000_000).map(|it| format!("l{it}=\"v\",")).collect();
    check(&format!("a{{{all}}} 1\nb 2\n"), &[("b", "", 2.0)], 1);
}

#[test]
fn labels_are_read_without_their_escapes() {
    let read = |text| {
        let found = labels(text);
        found.map(|it| it.into_iter().map(|it| format!("{}={}", it.name, it.value)).collect::<Vec<_>>())
    };
    assert_eq!(read(""), Some(vec![]));
    assert_eq!(read(r#"a="1",b="x\"y\\z\n\q","#).unwrap(), ["a=1", "b=x\"y\\z\n\\q"]);
    assert_eq!(read(r#" a = "1" , "b.c" = "2" "#).unwrap(), ["a=1", "b.c=2"]);
    for wrong in ["a", "a=1", "a=\"1", "a=\"1\"b=\"2\"", "=\"1\""] {
        assert_eq!(read(wrong), None, "{wrong}");
    }
    let many: String = (0..65).map(|it| format!("l{it}=\"v\",")).collect();
    assert_eq!(read(&many), None);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(text in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let (found, counts) = samples(&text);
        prop_assert_eq!(found.len(), counts.samples);
        for (_, raw, _) in &found {
            let _ = labels(raw);
        }
    }

    #[test]
    fn a_cut_text_has_the_samples_before_the_cut(at in 0..TEXT.len()) {
        let whole = samples(TEXT.as_bytes()).0;
        let cut = samples(&TEXT.as_bytes()[..at]).0;
        prop_assert_eq!(&cut[..], &whole[..cut.len()]);
    }

    #[test]
    fn a_changed_byte_changes_at_most_two_lines(at in 0..TEXT.len(), byte in any::<u8>()) {
        let mut text = TEXT.as_bytes().to_vec();
        text[at] = byte;
        let whole = samples(TEXT.as_bytes()).0;
        let kept = samples(&text).0.iter().filter(|it| whole.contains(it)).count();
        // A changed byte could turn a line into `# EOF` only if the rest of the line matched. No line of the text does.
        prop_assert!(kept + 2 >= whole.len());
    }

    #[test]
    fn what_is_written_is_read_again(value in any::<f64>(), label in "\\PC{0,30}") {
        let escaped = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let text = format!("name{{x=\"{escaped}\"}} {value:?}\n");
        let (found, _) = samples(text.as_bytes());
        prop_assert_eq!(found.len(), 1);
        prop_assert!(found[0].2 == value || found[0].2.is_nan() && value.is_nan());
        prop_assert_eq!(&labels(&found[0].1).unwrap()[0].value, &label);
    }
}
