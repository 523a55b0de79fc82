use super::*;
use crate::benchmark_run::{Distribution, SimulatorPreset};

fn check(namespace: &str, spec: &str) -> Result<ResolvedRun, Vec<String>> {
    let spec: BenchmarkRunSpec = serde_saphyr::from_str(spec).unwrap();
    let run = RunIdentity::first_attempt("chat", namespace, "u");
    resolve(run, &spec, &Settings::default()).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn prompts_are_those_of_the_run_and_attempt_unless_a_salt_is_given() {
    let salt = |profile: &str| check("", &format!("{{target: {{simulator: {{}}}}, profile: {profile}}}"));
    assert_eq!(salt("{}").unwrap().prompt_salt, "u-a1");
    assert_eq!(salt("{promptSalt: 2f9c-a3}").unwrap().prompt_salt, "2f9c-a3");
    for wrong in [String::new(), "a b".into(), "\\n".into(), "é".into(), "x".repeat(129)] {
        let errors = salt(&format!("{{promptSalt: \"{wrong}\"}}")).unwrap_err();
        let told = errors.iter().any(|it| it.starts_with("spec.profile.promptSalt") && it.contains("report.json"));
        assert!(told, "{wrong:?}: {errors:?}");
    }
}

#[test]
fn the_start_of_a_server_that_is_up_cannot_be_measured() {
    for target in ["{simulator: {}}", "{url: 'http://a'}"] {
        let errors = check("", &format!("{{target: {target}, harness: nop}}")).unwrap_err();
        assert!(errors.len() == 1 && errors[0].starts_with("spec.harness: is nop"), "{errors:?}");
        assert!(errors[0].contains("set spec.target.server") && errors[0].contains("benchwright startup FILE"));
    }
    let charts = "{target: {server: {engine: VLLM, method: ModelService, gatewayRef: {name: g}, image: i, model: m}}, harness: nop}";
    let errors = check("bench", charts).unwrap_err();
    assert!(errors.len() == 1 && errors[0].contains("with method ModelService the run starts no server"), "{errors:?}");
    let managed = check("", "{target: {server: {engine: Simulator}}, harness: nop}");
    let errors = managed.err().unwrap_or_default();
    assert!(errors.iter().all(|it| !it.starts_with("spec.harness")), "{errors:?}");
}

#[test]
fn a_service_account_has_the_name_of_an_object() {
    let named = |name: &str| {
        check("", &format!("{{target: {{simulator: {{}}}}, launcher: {{serviceAccountName: \"{name}\"}}}}"))
    };
    assert!(named("").is_ok() && named("puller-1.team").is_ok());
    for wrong in ["Puller", "a b", "a/b", "-a"] {
        let errors = named(wrong).unwrap_err();
        let field = "spec.launcher.serviceAccountName: is ";
        assert!(errors.len() == 1 && errors[0].starts_with(field), "{wrong}: {errors:?}");
    }
}

#[test]
fn a_folder_is_collected_from_a_claim_in_place_of_one_load() {
    let collect = |folder: &str, more: &str| {
        check("", &format!("{{target: {{simulator: {{}}}}, execution: {{collect: {{folder: \"{folder}\"}}}}{more}}}"))
    };
    assert_eq!(collect("chat-2db482-a1", "").unwrap().collect.as_deref(), Some("chat-2db482-a1"));
    for wrong in ["", "../a", "a/b", ".a", "a.partial", "-a", "a-", &"a".repeat(129)] {
        let errors = collect(wrong, "").unwrap_err();
        assert!(
            errors.len() == 1 && errors[0].starts_with("spec.execution.collect.folder: is "),
            "{wrong}: {errors:?}"
        );
    }
    for (more, part) in [
        (", storage: {none: {}}", "reads a folder on a claim"),
        (", repeat: 2", "spec.repeat asks for several runs"),
        (", launcher: {debug: true}", "spec.launcher.debug has nothing to hold back"),
    ] {
        let errors = collect("a", more).unwrap_err();
        assert!(
            errors.len() == 1 && errors[0].starts_with("spec.execution.collect: ") && errors[0].contains(part),
            "{errors:?}"
        );
    }
}

#[test]
fn an_empty_spec_with_a_simulator_gets_every_default() {
    let run = check("", "target: {simulator: {}}").unwrap();
    assert_eq!(run.endpoint, Endpoint::Simulator(SimulatorPreset::Gpu));
    assert_eq!(run.profile_source, "sanity_random");
    assert_eq!(run.run_deadline.to_string(), "3600s");
    assert!((run.validity.max_error_ratio - 0.01).abs() < f64::EPSILON);
    let run = check("", "{target: {simulator: {}}, harness: loadgen}").unwrap();
    assert_eq!(run.profile_source, "sanity");
}

#[test]
fn a_bound_is_a_share_or_a_time_above_zero() {
    assert_eq!(check("", "target: {simulator: {}}").unwrap().validity, ValidityBounds::default());
    for share in ["maxCpuShare", "maxThrottledShare", "maxStealShare", "maxCoalescedReadShare", "maxStalledShare"] {
        let found =
            |text: &str| check("", &format!("{{target: {{simulator: {{}}}}, validity: {{{share}: '{text}'}}}}"));
        assert!(found("0").is_ok() && found("1").is_ok() && found("0.25").is_ok(), "{share}");
        for text in ["1.1", "-1", "many", ""] {
            let errors = found(text).unwrap_err();
            assert!(errors.len() == 1 && errors[0].contains(share) && errors[0].contains("0 to 1"), "{errors:?}");
        }
    }
    for time in ["maxReceiveDelayP99Milliseconds", "maxClockStepMilliseconds"] {
        let found = |count: u32| check("", &format!("{{target: {{simulator: {{}}}}, validity: {{{time}: {count}}}}}"));
        assert!(found(1).is_ok());
        assert!(found(0).unwrap_err()[0].contains(time));
    }
}

#[test]
fn hardware_needs_a_count_and_a_price_its_currency() {
    let found = |hardware: &str| check("", &format!("{{target: {{simulator: {{}}, hardware: {hardware}}}}}"));
    let run = found("{accelerator: H100, accelerators: 8, pricePerAcceleratorHour: '2.50', currency: USD}").unwrap();
    let price = Price { per_accelerator_hour: 2.5, currency: "USD".into() };
    assert_eq!(run.hardware, Some(Hardware { accelerator: Some("H100".into()), accelerators: 8, price: Some(price) }));
    assert_eq!(found("{accelerators: 1}").unwrap().hardware.and_then(|it| it.price), None);
    assert_eq!(check("", "target: {simulator: {}}").unwrap().hardware, None);
    for (hardware, expected) in [
        ("{accelerators: 0}", vec!["accelerators: is 0; write the number"]),
        ("{accelerators: 1000001}", vec!["accelerators: is 1000001; write the number"]),
        ("{accelerators: 1, accelerator: ' '}", vec!["accelerator: is \" \"; write a name"]),
        ("{accelerators: 1, pricePerAcceleratorHour: 2}", vec!["currency: is missing"]),
        ("{accelerators: 1, currency: USD}", vec!["currency: is \"USD\", and there is no price"]),
        ("{accelerators: 1, pricePerAcceleratorHour: 1, currency: usd}", vec!["currency: is \"usd\"; write the three"]),
        (
            "{accelerators: 0, pricePerAcceleratorHour: '-1', currency: EURO}",
            vec![
                "accelerators: is 0",
                "pricePerAcceleratorHour: is \"-1\"; write a number above 0",
                "currency: is \"EURO\"",
            ],
        ),
        ("{accelerators: 1, pricePerAcceleratorHour: 0, currency: USD}", vec!["pricePerAcceleratorHour: is \"0\""]),
        ("{accelerators: 1, pricePerAcceleratorHour: NaN, currency: USD}", vec!["pricePerAcceleratorHour: is \"NaN\""]),
        ("{accelerators: 1, pricePerAcceleratorHour: 1e9, currency: USD}", vec!["pricePerAcceleratorHour: is"]),
    ] {
        let errors = found(hardware).unwrap_err();
        assert_eq!(errors.len(), expected.len(), "{hardware}: {errors:?}");
        for (error, expected) in errors.iter().zip(expected) {
            assert!(error.starts_with(&format!("spec.target.hardware.{expected}")), "{hardware}: {error}");
        }
    }
}

#[test]
fn a_service_becomes_its_dns_name() {
    let run = check("bench", "target: {serviceRef: {name: gateway, port: 8000, path: /llm/}}").unwrap();
    assert_eq!(run.endpoint.name(), "http://gateway.bench.svc.cluster.local:8000/llm");
}

#[test]
fn a_gateway_needs_a_cluster_and_stands_alone() {
    let gateway = "gatewayRef: {name: gateway, namespace: llm-d, sectionName: http, port: 80, httpRoute: llm}";
    let run = check("bench", &format!("target: {{{gateway}}}")).unwrap();
    assert_eq!(run.endpoint, Endpoint::Url(String::new()), "the operator fills it in");
    let errors = check("", &format!("target: {{{gateway}}}")).unwrap_err();
    assert_eq!(errors, ["spec.target.gatewayRef: needs a cluster; outside one, set url to the address of the Gateway"]);
    for other in ["url: 'http://h'", "serviceRef: {name: a}", "simulator: {}"] {
        let errors = check("bench", &format!("target: {{{gateway}, {other}}}")).unwrap_err();
        let of = errors[0].strip_prefix("spec.target: names more than one server: ").unwrap();
        assert!(errors.len() == 1 && of.contains("gatewayRef") && of.contains(" and "), "{other}: {errors:?}");
    }
}

#[test]
fn a_server_stands_alone_and_its_faults_are_reported_with_the_rest() {
    let errors = check("", "target: {simulator: {}, server: {engine: Simulator}}").unwrap_err();
    assert_eq!(errors, ["spec.target: names more than one server: simulator and server; keep one of them"]);
    let errors = check("bench", "{target: {server: {engine: VLLM, model: m}}, seed: 1}").unwrap_err();
    assert!(errors[0].starts_with("spec.target.server.image: is missing"), "{errors:?}");
    let seconds = |target: &str, settings: &Settings| {
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(&format!("target: {target}")).unwrap();
        EffectiveSpec::new(&spec, "", settings).target.readiness.timeout_seconds
    };
    assert_eq!(seconds("{server: {engine: Simulator}}", &Settings::local()), 900, "an engine loads for minutes");
    assert_eq!(seconds("{server: {engine: Simulator}, readiness: {timeoutSeconds: 7}}", &Settings::local()), 7);
    assert_eq!(seconds("{simulator: {}}", &Settings::local()), 60);
}

#[test]
fn a_server_of_a_cluster_is_called_by_the_names_of_its_objects() {
    let run = |server: &str| check("bench", &format!("{{target: {{server: {{{server}}}}}}}")).unwrap();
    let one = run("engine: Simulator");
    assert_eq!(one.endpoint.name(), "http://chat-0bfe93-server.bench.svc.cluster.local:8000");
    assert_eq!((one.metrics, one.model), (None, None), "one server tells its metrics where it is called");
    let two = run("engine: VLLM, image: i, model: org/m, replicas: 2, port: 9000");
    assert_eq!(two.endpoint.name(), "http://chat-0bfe93-server.bench.svc.cluster.local:9000");
    let urls: Vec<_> = two.metrics.iter().flatten().map(|it| it.url.as_str()).collect();
    assert_eq!(urls, ["http://chat-0bfe93-pods.bench.svc.cluster.local:9000/metrics"]);
    assert_eq!(two.model.as_deref(), Some("org/m"));
    let renamed = run("engine: VLLM, image: i, model: org/m, config: {served_model_name: other}");
    assert_eq!(renamed.model, None, "the server is asked for the name");
    // The server's own host is allowed even if the networks of the cluster are blocked.
    let allowed = two.egress.unwrap().allowed_hosts;
    assert_eq!(allowed[0], "chat-0bfe93-server.bench.svc.cluster.local");
    // With several replicas, the launcher calls each directly, according to `distribution`.
    assert_eq!(run("engine: Simulator").server_replicas, None);
    let two = run("engine: Simulator, replicas: 2, port: 81, distribution: LeastOutstanding").server_replicas.unwrap();
    let name = "http://chat-0bfe93-pods.bench.svc.cluster.local:81";
    assert_eq!((two.url.as_str(), two.count, two.distribution), (name, 2, Distribution::LeastOutstanding));
    assert_eq!(run("engine: Simulator, replicas: 2").server_replicas.unwrap().distribution, Distribution::RoundRobin);
    let local = check("", "{target: {server: {engine: Simulator, replicas: 2}}}").unwrap();
    assert_eq!(local.server_replicas, None, "the launcher starts them itself");
    let shared = run("engine: Simulator, lifecycle: Reuse").endpoint;
    assert!(shared.name().starts_with("http://benchwright-"), "{shared:?}");
    let written =
        check("bench", "{target: {server: {engine: Simulator, replicas: 2}, metrics: [], model: m}}").unwrap();
    assert_eq!((written.metrics, written.model.as_deref()), (Some(Vec::new()), Some("m")));
    let errors = check("bench", "{target: {server: {engine: Simulator}}, queueName: load}").unwrap_err();
    assert!(errors.len() == 1 && errors[0].starts_with("spec.queueName: is set beside target.server"), "{errors:?}");
}

#[test]
fn a_run_has_its_target_to_itself_unless_it_says_otherwise() {
    for (target, expected) in [
        ("{simulator: {}}", true),
        ("{url: 'http://h', exclusive: true}", true),
        ("{url: 'http://h', exclusive: false}", false),
    ] {
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(&format!("target: {target}")).unwrap();
        assert_eq!(EffectiveSpec::new(&spec, "", &Settings::default()).target.exclusive, expected, "{target}");
    }
}

#[test]
fn every_wrong_field_is_told_at_once() {
    let errors = check(
        "",
        "{target: {url: 'ftp://x', simulator: {}}, profile: {name: a, inline: b}, validity: {maxErrorRatio: '2'}, execution: {gracePeriodSeconds: 1}}",
    )
    .unwrap_err();
    let paths: Vec<_> = errors.iter().map(|it| it.split(':').next().unwrap()).collect();
    assert_eq!(
        paths,
        ["spec.target", "spec.profile", "spec.validity.maxErrorRatio", "spec.execution.gracePeriodSeconds"]
    );
}

#[test]
fn a_wrong_url_says_what_to_do() {
    for (url, remedy) in [
        ("gateway:80", "http://"),
        ("http://", "host"),
        ("http://me:pw@host", "target.auth"),
        ("http://host/v1", "/v1"),
        ("http://host/a?b", "query"),
        ("http://h:99999", "port from 1 to 65535"),
        ("http://h:0", "port from 1 to 65535"),
        ("http://h:+80", "port from 1 to 65535"),
        ("http://h:", "port from 1 to 65535"),
        ("http://h:8000:9000", "brackets"),
        ("http://::1:80", "brackets"),
        ("http://[::1", "brackets"),
        ("http://[::1]x", "port"),
        ("http://[1]", "brackets"),
        ("http://h st", "blanks"),
        ("http://h\u{7}/a", "control characters"),
        ("http://hö", "ASCII"),
        ("http://h/'a", "path"),
        ("http://h\"x", "host"),
    ] {
        let spec = serde_json::json!({"target": {"url": url}}).to_string();
        let errors = check("", &spec).unwrap_err();
        assert!(errors.len() == 1 && errors[0].contains(remedy), "{url}: {errors:?}");
    }
    for url in ["http://h", "https://h:1/", "http://[::1]:8000/llm", "http://a.b-c_d/x/y.z~%20", "http://1.2.3.4:65535"]
    {
        assert!(check("", &format!("target: {{url: '{url}'}}")).is_ok(), "{url}");
    }
}

#[test]
fn a_model_is_written_as_the_server_lists_it() {
    let in_a_template =
        ["a\", evil: \"b", "it's", "a: b", "a:", "a # b", "{a}", "[a]", "a,b", "a\\b", "- a", "@a", "*a", "&a", "%a"];
    for model in ["a\nb", " a", "a ", "a\u{1b}[1m"].into_iter().chain(in_a_template) {
        let spec = serde_json::json!({"target": {"simulator": {}, "model": model}}).to_string();
        assert!(check("", &spec).unwrap_err()[0].starts_with("spec.target.model: is \""), "{model:?}");
    }
    for model in
        ["meta-llama/Llama-3.1-8B-Instruct", "/models/a_b+c", "org/Größe 8B", "a:latest@sha256:0", "./m", "123"]
    {
        assert!(check("", &format!("target: {{simulator: {{}}, model: '{model}'}}")).is_ok(), "{model}");
    }
    let path = serde_json::json!({"target": {"serviceRef": {"name": "a", "path": "/a\",evil:\"b"}}}).to_string();
    assert!(check("ns", &path).unwrap_err()[0].starts_with("spec.target.serviceRef.path: is \"/a"));
}

#[test]
fn a_socket_is_a_target_outside_of_a_cluster() {
    for url in ["unix:/run/vllm.sock", "unix:///run/vllm.sock"] {
        assert_eq!(check("", &format!("target: {{url: '{url}'}}")).unwrap().endpoint.name(), "unix:/run/vllm.sock");
    }
    let long = format!("unix:/{}", "a".repeat(107));
    for (namespace, url, remedy) in [
        ("", "unix:run/vllm.sock", "from the root on"),
        ("", "unix:/run/", "from the root on"),
        ("", "unix:", "from the root on"),
        ("", &long, "at most 107 bytes"),
        ("bench", "unix:/run/vllm.sock", "set serviceRef"),
    ] {
        let errors = check(namespace, &format!("target: {{url: '{url}'}}")).unwrap_err();
        assert!(errors.len() == 1 && errors[0].contains(remedy), "{errors:?}");
    }
}

#[test]
fn a_password_in_a_url_is_not_repeated() {
    let errors = check("", "target: {url: 'http://me:hunter2@host'}").unwrap_err();
    assert!(errors[0].contains("<redacted>@host") && !errors[0].contains("hunter2"), "{errors:?}");
}

#[test]
fn an_attempts_name_tells_runs_of_one_name_apart() {
    let identity =
        |uid: &str, attempt: u32| RunIdentity { attempt, ..RunIdentity::first_attempt("chat", "bench", uid) };
    let name = identity("2f9c4e0a-9d1b-4e57-8d8c-0a2f6f3f9b11", 2).attempt_name();
    assert_eq!(name, "chat-2db482-a2");
    assert_ne!(identity("another", 2).attempt_name(), name);
}

#[test]
fn files_that_cannot_be_mounted_are_told_with_the_rest() {
    let errors =
        check("bench", "{target: {simulator: {}}, seed: 1, profile: {files: [{configMapRef: {name: a, key: ..}}]}}");
    assert!(errors.unwrap_err()[0].starts_with("spec.profile.files[0].configMapRef.key"));
}

#[test]
fn a_run_survives_its_file() {
    let run = check("bench", "{target: {url: 'https://host/'}, seed: 7}").unwrap();
    let text = serde_saphyr::to_string(&run).unwrap();
    assert_eq!(serde_saphyr::from_str::<ResolvedRun>(&text).unwrap(), run);
}

#[test]
fn a_name_of_a_resource_that_a_status_has_no_room_for_is_refused() {
    let spec =
        |name: &str| format!("{{target: {{simulator: {{}}}}, launcher: {{resources: {{limits: {{{name}: 1}}}}}}}}");
    check("n", &spec(&"a".repeat(128))).unwrap();
    let errors = check("n", &spec(&"a".repeat(129))).unwrap_err();
    assert!(errors[0].starts_with("spec.launcher.resources.limits") && errors[0].contains("128"), "{errors:?}");
}

#[test]
fn metrics_have_a_url_a_path_and_a_kind() {
    use crate::benchmark_run::MetricsKind;

    let metrics = |namespace: &str, text: &str| {
        let found = check(namespace, &format!("target: {{simulator: {{}}, metrics: {text}}}"))?;
        Ok(found.metrics.map(|it| it.into_iter().map(|it| (it.url, it.kind)).collect::<Vec<_>>()))
    };
    assert_eq!(check("", "target: {simulator: {}}").unwrap().metrics, None);
    assert_eq!(metrics("", "[]"), Ok(Some(vec![])));
    let text = "[{url: 'http://vllm:8000'}, {url: 'http://epp:9090/a/metrics/', kind: EndpointPicker}, \
                {serviceRef: {name: dcgm, port: 9400}, kind: DCGM}]";
    let expected = [
        ("http://vllm:8000/metrics", MetricsKind::Auto),
        ("http://epp:9090/a/metrics", MetricsKind::EndpointPicker),
        ("http://dcgm.bench.svc.cluster.local:9400/metrics", MetricsKind::Dcgm),
    ];
    let expected = expected.map(|(url, kind)| (url.to_owned(), kind)).to_vec();
    assert_eq!(metrics("bench", text), Ok(Some(expected)));
    for (text, field) in [
        ("[{}]", "metrics[0]: names no server"),
        ("[{url: 'http://a', serviceRef: {name: b}}]", "metrics[0]: has both"),
        ("[{url: 'http://a'}, {url: 'ftp://a'}]", "metrics[1].url: is"),
        ("[{url: 'http://me:secret@a'}]", "metrics[0].url: is"),
        ("[{url: 'unix:/run/vllm.sock'}]", "metrics[0].url: is"),
        ("[{url: 'http://a/metrics?x=1'}]", "metrics[0].url: is"),
        ("[{serviceRef: {name: a, path: b}}]", "metrics[0].serviceRef.path: is"),
    ] {
        let errors: Vec<String> = metrics("bench", text).unwrap_err();
        assert!(errors.len() == 1 && errors[0].contains(field) && !errors[0].contains("secret"), "{text}: {errors:?}");
    }
    assert!(metrics("", "[{serviceRef: {name: a}}]").unwrap_err()[0].contains("needs a cluster"));
    let many = format!("[{}]", "{url: 'http://a'}, ".repeat(33));
    assert!(metrics("", &many).unwrap_err()[0].contains("has 33 entries; write at most 32"));
}

#[test]
fn labels_of_the_operator_are_refused() {
    let labels = |of: &str| check("bench", &format!("{{target: {{simulator: {{}}}}, launcher: {{labels: {of}}}}}"));
    assert!(labels("{team: a, example.org/cost: b}").is_ok());
    for reserved in ["benchwright.dev/run", "app.kubernetes.io/name", "batch.kubernetes.io/job-name"] {
        let errors = labels(&format!("{{{reserved}: x, team: a}}")).unwrap_err();
        assert!(errors.len() == 1 && errors[0].starts_with("spec.launcher.labels: has "), "{errors:?}");
        assert!(errors[0].contains(reserved) && errors[0].contains("choose another prefix"), "{errors:?}");
    }
}

#[test]
fn an_image_with_blanks_is_refused() {
    let image = |of: &str| check("bench", &format!("{{target: {{simulator: {{}}}}, launcher: {{image: '{of}'}}}}"));
    assert!(image("registry.example:5000/a/b@sha256:0123").is_ok());
    for wrong in ["a b", " a", "a\u{a0}b"] {
        let errors = image(wrong).unwrap_err();
        assert!(errors.len() == 1 && errors[0].starts_with("spec.launcher.image: is "), "{errors:?}");
    }
}

#[test]
fn what_cannot_be_repeated_says_what_to_do() {
    let spec = |rest: &str| check("bench", &format!("{{target: {{simulator: {{}}}}, {rest}}}"));
    assert_eq!(spec("seed: 1").unwrap().repeat, 1);
    assert_eq!(spec("repeat: 30").unwrap().repeat, 30);
    assert_eq!(spec("repeat: 1, harness: loadgen, profile: {promptSalt: x}").unwrap().repeat, 1);
    for (wrong, path, remedy) in [
        ("repeat: 0", "spec.repeat", "is 0; write a whole number from 1 to 30"),
        ("repeat: 31", "spec.repeat", "is 31; write a whole number from 1 to 30"),
        ("repeat: 2, harness: loadgen", "spec.repeat", "is 2, and LoadGen tests cannot be repeated; take it out"),
        ("repeat: 2, profile: {promptSalt: x}", "spec.profile.promptSalt", "is \"x\"; take it out"),
    ] {
        let errors = spec(wrong).unwrap_err();
        assert!(errors.len() == 1 && errors[0].starts_with(&format!("{path}: {remedy}")), "{wrong}: {errors:?}");
    }
    let both = spec("repeat: 2, harness: loadgen, profile: {promptSalt: x}").unwrap_err();
    assert_eq!(both.len(), 2, "{both:?}");
}

#[test]
fn each_run_of_a_series_has_a_salt_and_the_whole_deadline() {
    let run = check("bench", "{target: {simulator: {}}, repeat: 3}").unwrap().run;
    let of_run = |number: u32| RunIdentity { repeat_number: Some(number), ..run.clone() };
    assert_eq!((of_run(2).prompt_salt(), of_run(2).title()), ("u-a1-r2".into(), "chat-r2".into()));
    assert_eq!((of_run(2).attempt_name(), run.title()), (run.attempt_name(), "chat".into()));
    let measuring = |repeat: u32| {
        let times = "execution: {deadlines: {runSeconds: 100}, gracePeriodSeconds: 10}";
        let spec =
            format!("{{target: {{simulator: {{}}, readiness: {{timeoutSeconds: 7}}}}, {times}, repeat: {repeat}}}");
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(&spec).unwrap();
        EffectiveSpec::new(&spec, "", &Settings::default()).measuring_seconds()
    };
    assert_eq!([1, 2, 30].map(measuring), [110, 227, 3_503]);
}
