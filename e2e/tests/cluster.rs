//! Tests of our own cluster: it starts, it stops without leaving anything behind, and a start cleans up after an earlier start that was killed.

use std::{
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use e2e::tools;

/// The lines that are in only one of two listings.
fn difference(before: &str, after: &str) -> Vec<String> {
    let only = |mine: &str, other: &str, sign: char| -> Vec<String> {
        mine.lines().filter(|line| !other.lines().any(|it| it == *line)).map(|line| format!("{sign} {line}")).collect()
    };
    [only(before, after, '-'), only(after, before, '+')].concat()
}

#[test]
#[ignore = "needs root and Go: make e2e"]
fn it_leaves_no_trace_even_when_its_start_was_killed() -> anyhow::Result<()> {
    tools::cluster(&["install"])?;
    tools::cluster(&["build"])?;
    tools::cluster(&["down"])?;
    let before = tools::cluster(&["trace"])?;

    for kill_after in [Duration::from_millis(400), Duration::from_millis(1_500), Duration::from_millis(3_000)] {
        let mut start = Command::new(tools::repository().join("e2e/cluster/cluster"))
            .arg("up")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        thread::sleep(kill_after);
        start.kill()?;
        start.wait()?;
    }
    tools::cluster(&["up"])?;
    let nodes = tools::kubectl(&["get", "nodes", "--no-headers"])?;
    assert!(nodes.contains(" Ready "), "the node is not ready: {nodes}");
    assert!(
        !difference(&before, &tools::cluster(&["trace"])?).is_empty(),
        "the listing does not see a running cluster"
    );

    tools::cluster(&["down"])?;
    let left = difference(&before, &tools::cluster(&["trace"])?);
    assert!(left.is_empty(), "the cluster left something behind:\n{}", left.join("\n"));
    Ok(())
}
