use super::*;

fn target(url: &str, namespace: &str) -> Option<Target> {
    Target::of_endpoint(&Endpoint::Url(url.into()), namespace, false, &Settings::default())
}

fn key(url: &str, namespace: &str) -> Option<TargetKey> {
    target(url, namespace).map(|it| it.key)
}

fn of_spec(target: &str) -> Option<TargetKey> {
    let spec = serde_saphyr::from_str(&format!("{{target: {target}}}")).unwrap();
    let mut run = BenchmarkRun::new("chat", spec);
    run.metadata.namespace = Some("bench".into());
    Target::of_run(&run, &Settings::default()).map(|it| it.key)
}

#[test]
fn all_forms_of_one_server_have_one_key() {
    for forms in [
        [
            "http://gateway:8000",
            "https://gateway:8000/llm",
            "http://GATEWAY:8000/",
            "http://gateway.bench:8000",
            "http://gateway.bench.:8000",
            "http://gateway.bench.svc:8000",
            "http://gateway.bench.svc.:8000/a/b",
            "http://Gateway.Bench.SVC.Cluster.Local.:8000",
        ]
        .as_slice(),
        &["http://h.example.com", "http://h.example.com:80", "https://h.example.com:80/x", "HTTP://H.example.com."],
        &["https://h.example.com", "http://h.example.com:443", "https://h.example.com:443/"],
        &["http://[::1]:1", "http://[0:0:0:0:0:0:0:1]:1", "https://[0::1]:1/a"],
        &["http://[2001:DB8::A]", "http://[2001:db8:0:0::a]:80"],
        &["http://10.0.0.7", "http://[::ffff:10.0.0.7]:80", "http://[::FFFF:a00:7]"],
    ] {
        let first = key(forms[0], "bench");
        assert!(first.is_some(), "{forms:?}");
        for form in forms {
            assert_eq!(key(form, "bench"), first, "{form}");
        }
    }
}

#[test]
fn other_servers_have_other_keys() {
    let urls = [
        "http://gateway",
        "https://gateway",
        "http://gateway:8000",
        "http://gateway.other",
        "http://gateway.bench.svc.example.com",
        "http://a.gateway.bench.svc",
        "http://10.0.0.7",
        "http://10.0.0.8",
        "http://[::1]",
    ];
    let keys: Vec<_> = urls.iter().map(|it| key(it, "bench").unwrap()).collect();
    for (at, one) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(one), "{}", urls[at]);
    }
    assert_ne!(key("http://gateway", "bench"), key("http://gateway", "other"), "a short name is one of its namespace");
    assert_eq!(key("http://gateway.bench", "other"), key("http://gateway", "bench"));
}

#[test]
fn a_server_outside_of_the_cluster_is_one_target_of_each_namespace() {
    for (url, is_cluster_wide) in [
        ("http://gateway.llm-d.svc", true),
        ("http://gateway.llm-d.svc.cluster.local:8000", true),
        ("http://gateway.llm-d", true),
        ("http://10.96.0.7", true),
        ("http://100.64.3.4", true),
        ("http://[fd00::7]", true),
        ("https://api.example.com", false),
        ("https://example.com", false),
        ("https://svc.cluster.local.example.com", false),
        ("https://notsvc.cluster.local", false),
        ("http://203.0.113.7", false),
        ("http://100.128.3.4", false),
        ("http://[2001:db8::a]", false),
    ] {
        let [bench, other] = ["bench", "other"].map(|it| target(url, it).unwrap());
        assert_eq!(bench, other, "{url}");
        assert_eq!(bench.is_cluster_wide, is_cluster_wide, "{url}");
    }
    let of = |target: &str| {
        let mut run = BenchmarkRun::new("chat", serde_saphyr::from_str(&format!("{{target: {target}}}")).unwrap());
        run.metadata.namespace = Some("bench".into());
        Target::of_run(&run, &Settings::default()).unwrap()
    };
    let (alone, wide) =
        (of("{url: 'https://api.example.com'}"), of("{url: 'https://api.example.com', exclusive: true}"));
    assert_eq!((alone.key == wide.key, alone.is_cluster_wide, wide.is_cluster_wide), (true, false, true));
}

#[test]
fn a_service_and_its_names_are_one_target() {
    let service = of_spec("{serviceRef: {name: gateway}}");
    assert_eq!(service, key("http://gateway.bench.svc.cluster.local", "other"));
    assert_eq!(
        of_spec("{serviceRef: {name: gateway, port: 8000, scheme: HTTPS, path: /a}}"),
        key("http://gateway:8000", "bench")
    );
    assert_eq!(of_spec("{url: 'http://gateway.bench'}"), service);
    let own = Settings { service_domain: "svc.example.org".into(), ..Settings::default() };
    let of = |url: &str| Target::of_endpoint(&Endpoint::Url(url.into()), "bench", false, &own).map(|it| it.key);
    assert_eq!(of("http://gateway"), of("http://gateway.bench.svc.example.org"));
    assert_ne!(of("http://gateway"), of("http://gateway.bench.svc.cluster.local"));
}

#[test]
fn what_is_no_server_has_no_key() {
    for target in ["{simulator: {}}", "{gatewayRef: {name: g}}", "{url: 'unix:/run/vllm.sock'}", "{url: 'ftp://h'}"] {
        assert_eq!(of_spec(target), None, "{target}");
    }
    for url in ["http://", "http://[x]", "http://h:99999", "http://[::1"] {
        assert_eq!(key(url, "bench"), None, "{url}");
    }
}

#[test]
fn a_key_prints_as_a_value_of_a_label() {
    let text = key("http://gateway", "bench").unwrap().to_string();
    assert!(text.len() == 20 && text.bytes().all(|it| it.is_ascii_hexdigit()), "{text}");
}
