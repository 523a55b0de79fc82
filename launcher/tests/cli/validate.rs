//! `benchwright validate`: its output for files with Kubernetes objects, and its exit code.

use super::*;

const RUN: &str = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\n";

fn run(metadata: &str, spec: &str) -> String {
    format!("{RUN}metadata: {{{metadata}}}\nspec: {{{spec}}}\n")
}

#[test]
fn every_run_of_every_document_is_told_apart() {
    let folder = Folder::new();
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: gateway}\n";
    let good =
        run("name: good", "target: {serviceRef: {name: gateway, port: 80}, auth: {secretKeyRef: {name: a, key: b}}}");
    let bad = run("name: bad", "target: {url: 'ftp://h'}, seed: many");
    folder.write("all.yaml", &format!("# Two runs.\n---\n{service}---\n{good}--- # the second\n{bad}"));
    let told = folder.benchwright(&["validate", "all.yaml"]).assert().code(10);
    let told = told.stdout(predicate::eq("all.yaml: good: can be run\n"));
    // The line numbers refer to the file.
    let stderr = predicate::str::contains("all.yaml: bad cannot be run:").and(predicate::str::contains("line 15"));
    told.stderr(stderr.and(predicate::str::contains("spec.target.url")).and(predicate::str::contains("spec.seed")));
    folder.write("good.yaml", &good);
    folder.benchwright(&["validate", "good.yaml"]).assert().success();
    folder.benchwright(&["validate", "-f", "good.yaml"]).assert().success();
    for namespace in ["", "..", "A", "a\n"] {
        let refused = folder.benchwright(&["validate", "good.yaml", "-n", namespace]).assert().code(10);
        refused.stderr(predicate::str::contains("--namespace is"));
    }
    let odd = run("name: odd", r#"target: {simulator: {}}, launcher: {image: "a b"}"#);
    folder.write("odd.yaml", &odd);
    let refused = folder.benchwright(&["validate", "odd.yaml"]).assert().code(10);
    refused.stderr(predicate::str::contains("spec.launcher.image").and(predicate::str::contains("without blanks")));
    folder.benchwright(&["validate", "-"]).write_stdin(good).assert().success().stdout("stdin: good: can be run\n");
    folder.write("service.yaml", service);
    let none = "none of the files has a BenchmarkRun";
    folder.benchwright(&["validate", "service.yaml"]).assert().code(10).stderr(predicate::str::contains(none));
    let missing = predicate::str::contains("cannot read nowhere.yaml");
    folder.benchwright(&["validate", "good.yaml", "nowhere.yaml"]).assert().code(10).stderr(missing);
}

#[test]
fn what_a_laptop_can_run_and_a_cluster_cannot_is_told() {
    let folder = Folder::new();
    let server = "target: {server: {engine: Custom, command: [sim], args: [--port, $(PORT)]}}";
    folder.write("mine.yaml", &run("name: mine", server));
    let refused = folder.benchwright(&["validate", "mine.yaml"]).assert().code(10);
    let note = "note: mine.yaml: mine: outside of a cluster, `benchwright run -f mine.yaml` can run it";
    refused.stderr(predicate::str::contains("spec.target.server.image").and(predicate::str::contains(note)));
    folder.write("mine.yaml", &run("name: mine", &server.replace("$(PORT)", "1")));
    let refused = folder.benchwright(&["validate", "mine.yaml"]).assert().code(10);
    refused.stderr(predicate::str::contains("outside of a cluster").not());
}

#[test]
fn a_profile_is_read_from_a_config_map_of_the_files() {
    let folder = Folder::new();
    let chat = run("name: chat", "target: {simulator: {}}, profile: {configMapRef: {name: chat-1, key: p.yaml}}");
    folder.write("run.yaml", &chat);
    let unknown = "note: run.yaml: chat: spec.profile.configMapRef: ConfigMap \"chat-1\" is in none of the files";
    folder.benchwright(&["validate", "run.yaml"]).assert().success().stderr(predicate::str::contains(unknown));
    let map = |key: &str, rate: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: chat-1}}\ndata:\n  {key}: |\n    data: {{type: mock}}\n    load: {{type: constant, stages: [{{rate: {rate}, duration: 5}}]}}\n"
        )
    };
    for (key, rate, said) in [
        ("p.yaml", "2", None),
        ("p.yaml", "-2", Some("load.stages[0].rate")),
        ("q.yaml", "2", Some("ConfigMap \"chat-1\" has no key \"p.yaml\"; it has \"q.yaml\"")),
    ] {
        folder.write("map.yaml", &map(key, rate));
        let told = folder.benchwright(&["validate", "map.yaml", "run.yaml"]).assert();
        match said {
            None => told.success().stdout("run.yaml: chat: can be run\n").stderr(""),
            Some(said) => told.code(10).stderr(predicate::str::contains(said)),
        };
    }
}

#[test]
fn a_schedule_is_checked_with_the_run_of_its_template() {
    let folder = Folder::new();
    let schedule = |name: &str, times: &str, run: &str| {
        format!(
            "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkSchedule\nmetadata: {{name: {name}}}\nspec:\n  {times}\n  runTemplate:\n    spec: {{{run}}}\n"
        )
    };
    let simulator = "target: {simulator: {}}";
    folder.write("good.yaml", &schedule("nightly", "schedule: '0 3 * * *'\n  timeZone: Europe/Berlin", simulator));
    folder.benchwright(&["validate", "good.yaml"]).assert().success().stdout("good.yaml: nightly: can be run\n");
    let long = "n".repeat(37);
    for (name, times, run, said) in [
        (
            "a",
            "schedule: '61 * * * *'",
            simulator,
            "spec.schedule, line 5 column 13: is \"61 * * * *\": value must be in range 0..=59",
        ),
        (
            "a",
            "schedule: '0 3 * * *'\n  timeZone: Mars",
            simulator,
            "spec.timeZone, line 6 column 13: is \"Mars\", which is no name",
        ),
        ("a", "suspend: true", simulator, "has neither schedule nor trigger"),
        ("a", "trigger: b", "target: {url: 'ftp://h'}", "spec.runTemplate.spec.target.url, line 7"),
        ("a", "trigger: b", "target: {simulator: {}}, sed: 1", "spec.runTemplate.spec.sed"),
        (&long, "trigger: b", simulator, "use at most 36, because the names of its runs add ten characters"),
    ] {
        folder.write("bad.yaml", &schedule(name, times, run));
        folder.benchwright(&["validate", "bad.yaml"]).assert().code(10).stderr(predicate::str::contains(said));
    }
}

#[test]
fn a_name_that_the_api_server_makes_has_to_fit_too() {
    let folder = Folder::new();
    let simulator = "target: {simulator: {}}";
    let longest = format!("{}-", "c".repeat(40));
    for (prefix, fits) in [("chat-", true), (longest.as_str(), true), ("Chat-", false), (&format!("c{longest}"), false)]
    {
        folder.write("run.yaml", &run(&format!("generateName: {prefix}"), simulator));
        let told = folder.benchwright(&["validate", "run.yaml"]).assert();
        match fits {
            true => told.success().stdout(predicate::str::contains(format!("{prefix}: can be run"))),
            false => told.code(10).stderr(
                predicate::str::contains("metadata.generateName, line 3")
                    .and(predicate::str::contains("at most 41 letters")),
            ),
        };
        // `render` applies the same check, although it needs no cluster.
        let told = folder.benchwright(&["render", "-f", "run.yaml"]).assert();
        let _ =
            if fits { told.success() } else { told.code(10).stderr(predicate::str::contains("metadata.generateName")) };
    }
    // With generateName, each object gets its own name, although the file contains the object twice. With a fixed name, the two objects would be the
    // same run.
    for (metadata, code) in [("generateName: chat-", 0), ("name: chat", 10)] {
        let one = run(metadata, simulator);
        folder.write("two.yaml", &format!("{one}---\n{one}"));
        folder.benchwright(&["validate", "two.yaml"]).assert().code(code);
    }
    folder.write("list.yaml", "apiVersion: v1\nkind: List\nitems: []\n");
    folder.benchwright(&["validate", "list.yaml"]).assert().code(10).stderr(predicate::str::contains("kind \"List\""));
}

#[test]
fn keys_that_would_be_ignored_are_notes_and_errors_with_strict() {
    let folder = Folder::new();
    let lengths = "min: 20, max: 60, mean: 40";
    let profile = format!(
        "data: {{type: random, input_distribution: {{{lengths}, std: 5}}, output_distribution: {{{lengths}}}}}, \
         load: {{type: constant, stages: [{{rate: 2, duration: 5}}]}}"
    );
    folder.write(
        "run.yaml",
        &run("name: chat", &format!("target: {{simulator: {{}}}}, profile: {{inline: \"{{{profile}}}\"}}")),
    );
    folder
        .benchwright(&["validate", "run.yaml"])
        .assert()
        .success()
        .stderr(predicate::str::contains("input_distribution.std"));
    folder
        .benchwright(&["validate", "--strict", "run.yaml"])
        .assert()
        .code(10)
        .stderr(predicate::str::contains("input_distribution.std"));
}

#[test]
fn the_examples_for_git_can_be_run() {
    let folder = Folder::new();
    folder.write("hook.yaml", include_str!("../../../examples/gitops/argocd-hook.yaml"));
    let profile: String = include_str!("../../../examples/gitops/kustomize/chat.yaml")
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect();
    let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: chat}}\ndata:\n  chat.yaml: |\n{profile}");
    let run = include_str!("../../../examples/gitops/kustomize/run.yaml");
    folder.write("built.yaml", &format!("{map}---\n{run}"));
    let both = "hook.yaml: after-sync: can be run\nbuilt.yaml: chat: can be run\n";
    folder.benchwright(&["validate", "hook.yaml", "built.yaml"]).assert().success().stdout(both).stderr("");
}

const POLICY: &str = "
limits: {images: [registry.example/benchwright], maxRequestsPerSecond: 10, serviceAccounts: []}
namespaces: [{names: [load-*], limits: {maxRequestsPerSecond: 1000, targetHosts: ['*.load-a.svc.cluster.local']}}]
";

#[test]
fn what_the_administrators_do_not_allow_is_said_at_once() {
    let folder = Folder::new();
    let profile = "{data: {type: mock}, load: {type: constant, stages: [{rate: 50, duration: 5}]}}";
    let spec = |launcher: &str| {
        format!("target: {{serviceRef: {{name: gateway}}}}, profile: {{inline: '{profile}'}}, launcher: {{{launcher}}}")
    };
    folder.write("run.yaml", &run("name: chat", &spec("image: a/b, serviceAccountName: admin")));
    folder.write("policy.yaml", POLICY);
    folder.benchwright(&["validate", "run.yaml"]).assert().success();
    let denied = folder.benchwright(&["validate", "run.yaml", "--policy", "policy.yaml"]).assert().code(10).stdout("");
    let said = String::from_utf8(denied.get_output().stderr.clone()).unwrap();
    for part in [
        "run.yaml: chat asks for what the administrators do not allow:",
        "spec.launcher.image: is \"a/b\"; limits.images allows only \"registry.example/benchwright\"",
        "spec.launcher.serviceAccountName: is \"admin\"; limits.serviceAccounts allows none; take it out",
        "is 50 requests per second; at most 10 requests per second are allowed (limits.maxRequestsPerSecond)",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    // The limits depend on the namespace, and so does the full name of the Service.
    folder.write("plain.yaml", &run("name: chat", &spec("image: a/b")));
    let policy = ["--policy", "policy.yaml", "--launcher-image", "a/b"];
    for (namespace, code) in [("load-a", 0), ("load-b", 10), ("other", 10)] {
        let all = [&["validate", "plain.yaml", "-n", namespace][..], &policy].concat();
        folder.benchwright(&all).assert().code(code);
    }
    let schedule = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkSchedule\nmetadata: {name: nightly}\nspec:\n  trigger: a\n  runTemplate:\n    spec: ";
    folder.write("nightly.yaml", &format!("{schedule}{{{}}}\n", spec("serviceAccountName: admin")));
    let template = folder.benchwright(&["validate", "nightly.yaml", "--policy", "policy.yaml"]).assert().code(10);
    template.stderr(predicate::str::contains("spec.runTemplate.spec.launcher.serviceAccountName: is \"admin\""));
    // The chart's values contain the policy among other values.
    folder.write("values.yaml", &format!("replicas: 1\npolicy:{}", POLICY.replace('\n', "\n  ")));
    let values = folder.benchwright(&["validate", "run.yaml", "--policy", "values.yaml"]).assert().code(10);
    values.stderr(predicate::eq(said));
}

#[test]
fn without_its_profile_a_run_is_held_against_the_other_limits() {
    let folder = Folder::new();
    let spec =
        "target: {simulator: {}}, profile: {configMapRef: {name: chat, key: p}}, launcher: {serviceAccountName: admin}";
    folder.write("run.yaml", &run("name: chat", spec));
    folder.write("policy.yaml", POLICY);
    let denied = folder.benchwright(&["validate", "run.yaml", "--policy", "policy.yaml"]).assert().code(10);
    let both = predicate::str::contains("ConfigMap \"chat\" is in none of the files")
        .and(predicate::str::contains("spec.launcher.serviceAccountName: is \"admin\""));
    denied.stderr(both);
}

#[test]
fn a_policy_that_cannot_be_used_says_all_that_is_wrong() {
    let folder = Folder::new();
    folder.write("run.yaml", &run("name: chat", "target: {simulator: {}}"));
    for (text, part) in [
        ("limits: {maxRequestsPerSecond: 0, maxRunSeconds: 0}", "limits.maxRunSeconds: is 0; write at least 1"),
        ("limits: {maxRate: 3}", "maxRate"),
        ("policy: {limits: {claims: ['a b']}}", "limits.claims[0]: is \"a b\""),
    ] {
        folder.write("policy.yaml", text);
        let refused = folder.benchwright(&["validate", "run.yaml", "--policy", "policy.yaml"]).assert().code(10);
        refused.stderr(
            predicate::str::contains("--policy: policy.yaml cannot be used:").and(predicate::str::contains(part)),
        );
    }
    let missing = folder.benchwright(&["validate", "run.yaml", "--policy", "none.yaml"]).assert().code(10);
    missing.stderr(predicate::str::contains("--policy: cannot read none.yaml"));
}

#[test]
fn a_data_set_that_is_here_is_read_and_its_faults_are_refused() {
    let folder = Folder::new();
    let profile = "{requests: {dataSet: {file: rows.json, row: {prompt: input}, output: 12}}, stages: [{load: {closed: {concurrency: 1, count: 1}}}]}";
    let run = simulated(profile).replace("spec:\n", "spec:\n  harness: benchwright\n");
    folder.write("run.yaml", &run);
    let absent = folder.benchwright(&["validate", "run.yaml"]).assert().success();
    absent.stderr(
        predicate::str::contains("names files that are not read here: ").and(predicate::str::contains("rows.json")),
    );
    folder.write("rows.json", r#"[{"question": "a", "output": "b"}]"#);
    let wrong = folder.benchwright(&["validate", "run.yaml"]).assert().code(10);
    wrong.stderr(predicate::str::contains("rows.json").and(predicate::str::contains("input")));
    folder.write("rows.json", r#"[{"input": "a", "output": "b"}]"#);
    folder.benchwright(&["validate", "run.yaml"]).assert().success().stdout(predicate::str::contains("can be run"));
}

#[test]
fn problems_of_the_profile_are_told_with_those_of_the_spec() {
    let folder = Folder::new();
    let spec = |profile: &str| {
        run(
            "name: bad",
            &format!(
                "target: {{}}, execution: {{deadlines: {{runSeconds: 0}}}}, profile: {profile}, \
                 slo: {{objectives: [{{name: a, metric: ttft, stat: p99, max: 1s, stage: nope}}]}}"
            ),
        )
    };
    let inline = |rate: &str| {
        format!("'{{data: {{type: mock}}, load: {{type: constant, stages: [{{rate: {rate}, duration: 5}}]}}}}'")
    };
    let override_of = "overrides: {load.stages.0.rate: -5}";
    for (profile, rate) in [
        (format!("{{inline: {}}}", inline("-5")), Some("is -5")),
        (format!("{{inline: {}, {override_of}}}", inline("5")), Some("set by profile.overrides")),
        (format!("{{inline: {}}}", inline("5")), None),
        // In this case the profile itself is one of the errors, so its content is not checked.
        (format!("{{inline: {}, name: b}}", inline("-5")), None),
    ] {
        folder.write("bad.yaml", &spec(&profile));
        for command in ["validate", "run"] {
            let told = folder.benchwright(&[command, "-f", "bad.yaml"]).assert().code(10);
            let stderr = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
            for part in ["spec.target, line 4", "spec.execution.deadlines.runSeconds, line 4"] {
                assert!(stderr.contains(part), "{part}: {stderr}");
            }
            let told = stderr.lines().find(|it| it.contains("spec.profile: load.stages[0].rate, line 4"));
            assert_eq!(told.is_some(), rate.is_some(), "{profile}: {stderr}");
            assert!(told.zip(rate).is_none_or(|(told, rate)| told.contains(rate)), "{stderr}");
            // Whether the objective's stage exists can only be checked if the profile can be read.
            let has_stages = rate.is_none() && !profile.contains("name: b");
            assert_eq!(stderr.contains("spec.slo.objectives[0].stage"), has_stages, "{profile}: {stderr}");
        }
    }
}
