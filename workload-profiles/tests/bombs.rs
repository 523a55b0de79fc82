//! Templates and texts that would take unlimited time or memory. Each must end soon, with an error or a bounded text. The test prints the CPU time of
//! each, and the memory of the process: `cargo test -p workload-profiles --test tests bombs:: -- --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, fs};

/// Maximum memory of the whole process, in KiB.
const MAX_MEMORY_KIB: u64 = 64 << 10;
/// Maximum length of a profile, in bytes.
const MAX_TEXT: usize = 256 << 10;

/// A name, a template, and overrides.
type Bomb = (&'static str, String, Vec<(&'static str, &'static str)>);

fn bombs() -> Vec<Bomb> {
    let plain = |name, template: &str| (name, template.to_owned(), Vec::new());
    let nested = |open: &str, close: &str, depth: usize| format!("{}{}", open.repeat(depth), close.repeat(depth));
    let loops: String = (0..8).map(|it| format!("{{% for a{it} in range(end=1000) %}}")).collect();
    let ends = "{% endfor %}".repeat(8);
    let laughs: String =
        (1..12).map(|it| format!("a{it}: &a{it} [{}]\n", format!("*a{},", it - 1).repeat(10))).collect();
    let anchors: String =
        (0..3_000).map(|it| format!("k{it}: &k{it} [{}]\n", format!("*k{},", it.max(1) - 1).repeat(2))).collect();
    vec![
        plain("eight loops in each other", &format!("{loops}x{ends}")),
        plain("a range of 10^18", "{% for a in range(end=1000000000000000000) %}x{% endfor %}"),
        plain("a range of 10^18 as a value", "{{ range(end=1000000000000000000) }}"),
        plain("a range with steps of 0", "{% for a in range(end=9, step_by=0) %}x{% endfor %}"),
        plain(
            "a loop over a long text",
            &format!("{{% for a in range(end=1000) %}}{}{{% endfor %}}", "x".repeat(200_000)),
        ),
        plain("100,000 brackets in a tag", &format!("{{{{ {} }}}}", nested("(", ")", 100_000))),
        plain("10,000 conditions in each other", &nested("{% if true %}", "{% endif %}", 10_000)),
        plain("50,000 tags", &"{{1}}".repeat(50_000)),
        plain("50,000 tags that are not closed", &"{{".repeat(50_000)),
        plain(
            "a macro that calls itself",
            "{% macro a() %}{{ self::a() }}{{ self::a() }}{% endmacro a %}{{ self::a() }}",
        ),
        plain("an include of itself", "{% include \"profile\" %}"),
        plain(
            "a text that grows by filters",
            &format!("{{{{ \"a\"{} }}}}", " | replace(from=\"a\", to=\"aaaaaaaaaa\")".repeat(20)),
        ),
        plain(
            "a text that grows in a loop",
            "{% set_global a = \"x\" %}{% for i in range(end=60) %}{% set_global a = a ~ a %}{% endfor %}",
        ),
        plain("a list comprehension", "{{ [a for a in range(end=1000000000)] }}"),
        plain("a power tower", &format!("{{{{ {}9 }}}}", "9 ** ".repeat(1_000))),
        plain("a text of 10 MiB", &"x".repeat(10 << 20)),
        plain("aliases of aliases", &format!("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n{laughs}")),
        plain("3,000 aliases that double", &anchors),
        plain("100,000 lists in each other", &"[".repeat(100_000)),
        plain("60,000 mappings in each other", &"{a: ".repeat(60_000)),
        plain("20,000 keys", &(0..20_000).map(|it| format!("key{it}: 1\n")).collect::<String>()),
        plain("100,000 elements", &format!("load: [{}]", "1,".repeat(100_000))),
        plain("a command line of 200 KiB", &format!("vllm bench serve {}", "--a 'b' ".repeat(25_000))),
        plain("15,000 names to be replaced", &"a: REPLACE_ENV_A\n".repeat(15_000)),
        ("an override of a far element", "load: {}".into(), vec![("load.stages[999999999].rate", "1")]),
        (
            "an override of a deep path",
            "load: {}".into(),
            vec![("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", "1")],
        ),
    ]
}

/// CPU time of this thread, in nanoseconds.
fn cpu() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Peak memory of the process, in KiB.
fn peak_memory() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|it| it.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn no_template_takes_endless_time_or_memory() {
    let run = crate::common::run("target: {url: 'http://server:8000', model: m}");
    let variables = workload_profiles::variables(&run, &BTreeMap::new()).unwrap();
    // `MAX_MEMORY_KIB` limits the whole process, so it includes the memory of the test itself.
    let bombs = bombs();
    let mut longest = 0;
    for (name, template, overrides) in &bombs {
        let overrides = overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
        let before = cpu();
        let prepared = workload_profiles::prepare(&run, template, &variables, &overrides);
        let microseconds = (cpu() - before) / 1_000;
        longest = longest.max(microseconds);
        println!("{microseconds:>8} us CPU, peak {:>6} KiB: {name}", peak_memory());
        match prepared {
            Ok(prepared) => assert!(prepared.text.len() <= MAX_TEXT, "{name}: {}", prepared.text.len()),
            Err(error) => assert!(!error.problems.is_empty() && error.to_string().len() < 64 << 10, "{name}: {error}"),
        }
        assert!(peak_memory() <= MAX_MEMORY_KIB, "{name}: {} KiB", peak_memory());
    }
    println!(
        "figure 22: all {} templates end, each within {} ms of CPU time and {} MiB of memory",
        bombs.len(),
        longest / 1_000,
        peak_memory() / 1_024
    );
}
