//! Which crate of the workspace may depend on which others. Compares the arrows in `docs/architecture.md` with the dependencies that Cargo reports.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use serde_json::Value;

/// Each crate, and the workspace crates that its code uses. Test dependencies are not included.
const ARROWS: &[(&str, &[&str])] = &[
    ("crds", &[]),
    ("workload-profiles", &["crds"]),
    ("policy", &["crds", "workload-profiles"]),
    ("operator", &["crds", "policy", "workload-profiles"]),
    ("kubectl-benchwright", &["archive", "compare-command", "crds", "files", "junit", "report"]),
    ("accuracy", &[]),
    ("archive", &["crds"]),
    ("chat-template", &[]),
    ("clock", &[]),
    ("loadgen", &["crds", "measurement", "workload-profiles"]),
    ("tokenizer", &[]),
    ("python-data", &[]),
    ("prompts", &["chat-template", "files", "tokenizer", "workload-profiles"]),
    (
        "data-sets",
        &["chat-template", "clock", "crds", "files", "prompts", "python-data", "tokenizer", "workload-profiles"],
    ),
    ("questions", &["accuracy", "data-sets", "files", "prompts", "workload-profiles"]),
    ("files", &["crds"]),
    ("frames", &[]),
    ("offline-engine", &["clock", "frames"]),
    ("startup", &["crds"]),
    ("search", &["statistics"]),
    ("sweep", &["crds", "document", "figures", "report", "statistics"]),
    ("statistics", &[]),
    ("figures", &["crds"]),
    ("charts", &[]),
    ("measurement", &["crds", "workload-profiles"]),
    ("engine", &["clock", "crds", "files", "measurement", "prompts", "tokenizer", "workload-profiles"]),
    ("workload-files", &["crds", "data-sets", "engine", "files", "prompts", "questions", "workload-profiles"]),
    (
        "analysis",
        &["crds", "figures", "loadgen", "measurement", "search", "server-metrics", "statistics", "workload-profiles"],
    ),
    (
        "document",
        &["analysis", "crds", "figures", "files", "measurement", "server-metrics", "startup", "workload-profiles"],
    ),
    ("server-metrics", &["crds"]),
    ("scrape", &["clock", "crds", "engine", "server-metrics"]),
    ("junit", &["crds"]),
    ("managed-server", &["clock", "crds", "files"]),
    (
        "report",
        &[
            "analysis",
            "charts",
            "crds",
            "document",
            "figures",
            "files",
            "junit",
            "loadgen",
            "measurement",
            "server-metrics",
            "startup",
            "workload-profiles",
        ],
    ),
    ("comparison", &["analysis", "crds", "document", "figures", "report", "statistics", "workload-profiles"]),
    ("compare-command", &["comparison", "crds", "document", "files", "page", "report"]),
    ("page", &["charts", "comparison", "crds", "document", "figures", "report", "sweep", "workload-profiles"]),
    ("submission", &["crds", "document", "files", "loadgen", "report", "workload-profiles"]),
    ("simulator", &["clock", "crds"]),
    (
        "bench",
        &[
            "analysis",
            "capacity",
            "clock",
            "crds",
            "document",
            "engine",
            "files",
            "launcher",
            "measurement",
            "report",
            "scrape",
            "simulator",
            "workload-files",
            "workload-profiles",
        ],
    ),
    (
        "capacity",
        &["analysis", "clock", "crds", "engine", "measurement", "simulator", "workload-files", "workload-profiles"],
    ),
    (
        "launcher",
        &[
            "accuracy",
            "analysis",
            "archive",
            "capacity",
            "charts",
            "clock",
            "compare-command",
            "crds",
            "document",
            "data-sets",
            "engine",
            "files",
            "frames",
            "loadgen",
            "managed-server",
            "measurement",
            "offline-engine",
            "page",
            "policy",
            "prompts",
            "questions",
            "report",
            "scrape",
            "search",
            "server-metrics",
            "simulator",
            "startup",
            "submission",
            "sweep",
            "tokenizer",
            "workload-files",
            "workload-profiles",
        ],
    ),
    ("e2e", &["crds"]),
];

/// Crates that only contain functions from values to values, without I/O. This is true for all their dependencies, too.
const PURE: [&str; 17] = [
    "accuracy",
    "charts",
    "chat-template",
    "crds",
    "figures",
    "frames",
    "junit",
    "policy",
    "workload-profiles",
    "loadgen",
    "measurement",
    "python-data",
    "search",
    "server-metrics",
    "startup",
    "statistics",
    "tokenizer",
];

/// Crates that process measured data. Their own code is not asynchronous.
const WITHOUT_RUNTIME: [&str; 10] = [
    "analysis",
    "archive",
    "compare-command",
    "comparison",
    "document",
    "files",
    "page",
    "report",
    "submission",
    "sweep",
];

/// Crates that work on the files of finished runs, or on measured data. They must not depend on code that sends load.
const WITHOUT_ENGINE: [&str; 11] = [
    "kubectl-benchwright",
    "sweep",
    "compare-command",
    "comparison",
    "document",
    "page",
    "report",
    "submission",
    "analysis",
    "server-metrics",
    "measurement",
];

/// Crates for MLPerf, and readers of data sets. Neither the engine nor a measurement depends on them.
const ABOVE_ENGINE: [&str; 8] =
    ["accuracy", "data-sets", "loadgen", "offline-engine", "parquet", "python-data", "questions", "submission"];

pub(crate) fn cargo(arguments: &[&str]) -> String {
    let run = Command::new(env!("CARGO")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

/// Returns the dependencies of each crate in the workspace, without test dependencies.
pub(super) fn direct() -> BTreeMap<String, BTreeSet<String>> {
    let text = cargo(&["metadata", "--locked", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
    let used = |package: &Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        dependencies.filter(|it| it["kind"] != "dev").map(name).collect()
    };
    metadata["packages"].as_array().unwrap().iter().map(|it| (name(it), used(it))).collect()
}

/// Returns the names of all crates that are compiled for a crate.
fn all_of(package: &str) -> BTreeSet<String> {
    let text = cargo(&["tree", "--locked", "--package", package, "--edges", "normal,build", "--prefix", "none"]);
    let names: BTreeSet<String> = text.lines().filter_map(|it| it.split(' ').next()).map(str::to_owned).collect();
    assert!(names.contains(package), "`cargo tree` printed nothing of {package}: {text}");
    names
}

#[test]
fn each_crate_uses_the_crates_below_it_and_no_other() {
    let direct = direct();
    let found: BTreeMap<&str, BTreeSet<&str>> = direct
        .iter()
        .map(|(package, used)| {
            let ours = used.iter().filter(|it| direct.contains_key(*it)).map(String::as_str);
            (package.as_str(), ours.collect())
        })
        .collect();
    let wanted = ARROWS.iter().map(|(package, used)| (*package, used.iter().copied().collect()));
    assert_eq!(found, wanted.collect());
}

/// Checks that `main.rs` lists every test file. With a single test program per crate, Cargo does not find test files itself, so the tests in an
/// unlisted file would never run.
#[test]
fn each_file_of_integration_tests_is_a_module_of_their_program() {
    let text = cargo(&["metadata", "--locked", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let mut programs = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("tests");
        let Ok(main) = fs::read_to_string(folder.join("main.rs")) else { continue };
        programs += 1;
        let targets: Vec<_> = package["targets"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_module = path.extension().is_some_and(|it| it == "rs") || path.join("mod.rs").exists();
            let name = path.file_stem().unwrap().to_str().unwrap();
            if is_module && name != "main" {
                assert!(main.contains(&format!("mod {name};\n")), "{} is in no program", path.display());
            } else if path.join("main.rs").exists() {
                assert!(targets.iter().any(|it| *it == name), "{} is in no program", path.display());
            }
        }
    }
    assert!(programs >= 11, "{programs} crates have one program of tests");
}

#[test]
fn make_quick_tests_the_pure_crates() {
    let makefile = include_str!("../../Makefile");
    let listed = makefile.lines().find_map(|it| it.strip_prefix("pure := ")).unwrap();
    assert_eq!(listed.split(' ').collect::<BTreeSet<_>>(), PURE.into_iter().collect());
}

#[test]
fn pure_crates_have_no_runtime_and_no_network() {
    for package in PURE {
        let all = all_of(package);
        let found: Vec<_> =
            ["tokio", "hyper", "h2", "reqwest", "rustls", "kube"].iter().filter(|it| all.contains(**it)).collect();
        assert!(found.is_empty(), "{package} is built of {found:?}");
    }
    let direct = direct();
    for package in WITHOUT_RUNTIME {
        assert!(!direct[package].contains("tokio"), "{package} uses tokio");
    }
}

#[test]
fn readers_of_measurements_have_no_engine() {
    for package in WITHOUT_ENGINE {
        let all = all_of(package);
        let found: Vec<_> = ["engine", "scrape", "clock", "tokenizer"].iter().filter(|it| all.contains(**it)).collect();
        assert!(found.is_empty(), "{package} is built of {found:?}");
    }
}

#[test]
fn the_engine_knows_neither_mlperf_nor_formats_of_data_sets() {
    for package in ["engine", "measurement"] {
        let all = all_of(package);
        let found: Vec<_> = ABOVE_ENGINE.iter().filter(|it| all.contains(**it)).collect();
        assert!(found.is_empty(), "{package} is built of {found:?}");
    }
}

#[test]
fn the_tokenizer_has_no_part_in_c() {
    let all = all_of("tokenizer");
    let found: Vec<_> = ["cc", "onig", "onig_sys", "cmake"].iter().filter(|it| all.contains(**it)).collect();
    assert!(found.is_empty(), "the tokenizer is built with {found:?}");
}

#[test]
fn the_launcher_is_built_without_any_kubernetes_crate() {
    let all = all_of("launcher");
    let found: Vec<_> = all.iter().filter(|it| it.starts_with("kube") || it.starts_with("k8s")).collect();
    assert!(found.is_empty(), "{found:?}");
}
