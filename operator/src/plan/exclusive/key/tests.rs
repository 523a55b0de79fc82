use super::*;

fn key(url: &str, namespace: &str) -> Option<TargetKey> {
    TargetKey::of_endpoint(&Endpoint::Url(url.into()), namespace, &Settings::default())
}

fn of_spec(target: &str) -> Option<TargetKey> {
    let spec = serde_saphyr::from_str(&format!("{{target: {target}}}")).unwrap();
    let mut run = BenchmarkRun::new("chat", spec);
    run.metadata.namespace = Some("bench".into());
    TargetKey::of_run(&run, &Settings::default())
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
fn a_service_and_its_names_are_one_target() {
    let service = of_spec("{serviceRef: {name: gateway}}");
    assert_eq!(service, key("http://gateway.bench.svc.cluster.local", "other"));
    assert_eq!(
        of_spec("{serviceRef: {name: gateway, port: 8000, scheme: HTTPS, path: /a}}"),
        key("http://gateway:8000", "bench")
    );
    assert_eq!(of_spec("{url: 'http://gateway.bench'}"), service);
    let own = Settings { service_domain: "svc.example.org".into(), ..Settings::default() };
    let of = |url: &str| TargetKey::of_endpoint(&Endpoint::Url(url.into()), "bench", &own);
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
