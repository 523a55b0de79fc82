use super::*;
use crate::{
    benchmark_run::Server,
    resolve::{RunIdentity, Settings},
};

fn check(place: Place, server: &str) -> Result<ManagedServer, Vec<String>> {
    let server: Server = serde_saphyr::from_str(server).unwrap();
    resolve_server(&server, place).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

/// The command line of the first replica on a laptop.
fn line(server: &str) -> String {
    let start = check(Place::Laptop, server).unwrap().replica(0, 9000, "/bin/benchwright");
    [start.command, start.args].concat().join(" ")
}

fn assert_refused(place: Place, server: &str, expected: &[&str]) {
    let errors = check(place, server).unwrap_err();
    assert_eq!(errors.len(), expected.len(), "{server}: {errors:?}");
    for (error, expected) in errors.iter().zip(expected) {
        let field = format!("spec.target.server.{expected}");
        assert!(error.starts_with(&field), "{server}:\n{error}\n{field}");
    }
}

#[test]
fn each_engine_is_started_as_its_documentation_says() {
    assert_eq!(line("{engine: VLLM, model: org/m}"), "vllm serve org/m --host 127.0.0.1 --port 9000");
    assert_eq!(
        line("{engine: SGLang, model: org/m}"),
        "python3 -m sglang.launch_server --model-path org/m --host 127.0.0.1 --port 9000"
    );
    assert_eq!(line("{engine: Simulator}"), "/bin/benchwright sim --host 127.0.0.1 --port 9000");
    assert_eq!(
        line("{engine: Simulator, model: m, args: [--preset, tiny]}"),
        "/bin/benchwright sim --model m --host 127.0.0.1 --port 9000 --preset tiny"
    );
    assert_eq!(line("{engine: Custom, command: [python3, s.py], args: ['-p', '$(PORT)']}"), "python3 s.py -p 9000");
}

#[test]
fn a_script_runs_before_the_engine_and_becomes_it() {
    assert_eq!(
        line("{engine: VLLM, model: org/m, preprocess: 'pip install tensorizer'}"),
        "bash -ec pip install tensorizer\nexec \"$@\" preprocess vllm serve org/m --host 127.0.0.1 --port 9000"
    );
    let refused = [
        ("{engine: VLLM, model: m, image: i, preprocess: ' '}", "preprocess: is empty"),
        ("{engine: VLLM, model: m, image: i, preprocess: 'export HF_TOKEN=hf_1'}", "preprocess: sets \"HF_TOKEN\""),
        ("{engine: Custom, image: i, preprocess: 'true'}", "preprocess: is set, and command is empty"),
        ("{engine: Simulator, preprocess: 'true'}", "preprocess: needs bash"),
    ];
    for (server, expected) in refused {
        assert_refused(Place::Cluster, server, &[expected]);
    }
    for script in ["sort --key=2 f", "export HF_TOKEN=$(cat /run/secrets/hf)", "HF_TOKEN=\"$OTHER\" true"] {
        let server = format!("{{engine: VLLM, model: m, preprocess: '{script}'}}");
        assert!(check(Place::Laptop, &server).is_ok(), "{script}");
    }
    let long = format!("{{engine: Simulator, preprocess: {}}}", "x".repeat(5_000));
    assert_refused(Place::Laptop, &long, &["preprocess: has 5000 characters; write at most 4096"]);
}

#[test]
fn a_shared_server_of_a_time_before_wrappers_is_still_used() {
    let name = |more: &str| {
        let server: Server =
            serde_saphyr::from_str(&format!("{{engine: Simulator, image: i, lifecycle: Reuse{more}}}")).unwrap();
        let run = RunIdentity::first_attempt("chat", "bench", "u");
        ServerNames::new(&run, &server, &Settings::default()).server
    };
    // The hash of {"engine":"Simulator","image":"i","port":8000,"replicas":1}.
    assert_eq!(name(""), "benchwright-6536c566fd-server");
    assert_eq!(name(", wrapper: true"), name(""));
    assert_ne!(name(", wrapper: false"), name(""));
}

#[test]
fn an_engine_without_its_api_is_started_by_our_own_program() {
    assert_eq!(
        line("{engine: VLLM, model: org/m, offline: true, maxModelLen: 4096, config: {enforce-eager: true}}"),
        "/bin/benchwright offline-engine --host 127.0.0.1 --port 9000 org/m --max-model-len 4096 --enforce-eager"
    );
    let vllm = "engine: VLLM, offline: true";
    assert_refused(
        Place::Laptop,
        "{engine: Simulator, offline: true}",
        &["offline: runs vLLM's LLM class, and the engine is Simulator"],
    );
    assert_refused(
        Place::Cluster,
        &format!("{{{vllm}, model: m, image: i}}"),
        &["offline: works outside of a cluster only"],
    );
    assert_refused(Place::Laptop, &format!("{{{vllm}, config: {{model: m}}}}"), &["offline: needs the model"]);
}

#[test]
fn fields_become_the_options_of_their_engine() {
    let fields = "model: m, tensorParallelSize: 2, maxModelLen: 4096, maxNumSeqs: 64, gpuMemoryUtilization: 0.85, \
                  dtype: bfloat16, quantization: fp8, loadFormat: dummy, args: [--seed, '1']";
    assert_eq!(
        line(&format!("{{engine: VLLM, {fields}}}")),
        "vllm serve m --host 127.0.0.1 --port 9000 --tensor-parallel-size 2 --max-model-len 4096 --max-num-seqs 64 \
         --gpu-memory-utilization 0.85 --dtype bfloat16 --quantization fp8 --load-format dummy --seed 1"
    );
    assert_eq!(
        line(&format!("{{engine: SGLang, {fields}}}")),
        "python3 -m sglang.launch_server --model-path m --host 127.0.0.1 --port 9000 --tensor-parallel-size 2 \
         --context-length 4096 --max-running-requests 64 --mem-fraction-static 0.85 --dtype bfloat16 --quantization fp8 \
         --load-format dummy --seed 1"
    );
    assert_eq!(
        line("{engine: Simulator, maxModelLen: 512, maxNumSeqs: 4}"),
        "/bin/benchwright sim --host 127.0.0.1 --port 9000 --max-model-len 512 --max-num-seqs 4"
    );
}

#[test]
fn an_option_of_config_is_a_flag_a_value_or_its_negation() {
    let config =
        "config: {max_num_batched_tokens: 8192, enable-prefix-caching: false, enforce-eager: true, swap-space: '-1'}";
    assert_eq!(
        line(&format!("{{engine: VLLM, command: [v], model: m, {config}}}")),
        "v m --host 127.0.0.1 --port 9000 --no-enable-prefix-caching --enforce-eager --max-num-batched-tokens 8192 --swap-space=-1"
    );
    let config = "config: {disable-radix-cache: false, enable-mixed-chunk: true}";
    assert_eq!(
        line(&format!("{{engine: SGLang, command: [s], model: m, {config}}}")),
        "s --model-path m --host 127.0.0.1 --port 9000 --enable-mixed-chunk"
    );
    assert_eq!(
        line("{engine: VLLM, command: [v], model: m, config: {compilation-config.cache_dir: /c}}"),
        "v m --host 127.0.0.1 --port 9000 --compilation-config.cache_dir /c"
    );
    assert_eq!(line("{engine: Custom, command: [c], port: 9000, config: {Some_Name: 1}}"), "c --Some_Name 1");
    assert_refused(
        Place::Laptop,
        "{engine: VLLM, model: m, config: {'': 1, --seed: 1, a b: 2}}",
        &["config: has \"\"", "config: has \"--seed\"", "config: has \"a b\""],
    );
}

#[test]
fn options_that_this_release_does_not_know_are_passed_on_and_listed() {
    let server = "{engine: VLLM, model: m, config: {brand-new: 1, seed: 2, no-enable-log-requests: true}, \
                  args: [--other-new=3, --trust-remote-code, '--', value, '-x']}";
    let found = check(Place::Laptop, server).unwrap();
    assert_eq!(found.unknown_options, ["brand-new", "other-new"]);
    assert!(line(server).contains("--brand-new 1") && line(server).contains("--other-new=3"));
    assert!(
        check(Place::Laptop, "{engine: Custom, command: [a], port: 9000, args: [--x]}")
            .unwrap()
            .unknown_options
            .is_empty()
    );
}

#[test]
fn the_size_follows_the_gpus_of_a_replica() {
    let vllm = |rest: &str| line(&format!("{{engine: VLLM, command: [v], model: m, {rest}}}"));
    let end = |size: &str| format!("v m --host 127.0.0.1 --port 9000{size}");
    let four = "devices: [['0', '1', '2', '3']]";
    assert_eq!(vllm(four), end(" --tensor-parallel-size 4"));
    assert_eq!(vllm(&format!("tensorParallelSize: Auto, {four}")), end(" --tensor-parallel-size 4"));
    assert_eq!(vllm(&format!("tensorParallelSize: '2', {four}")), end(" --tensor-parallel-size 2"));
    assert_eq!(vllm("tensorParallelSize: 1"), end(" --tensor-parallel-size 1"));
    assert_eq!(vllm("tensorParallelSize: Auto"), end(""));
    assert_eq!(vllm("devices: [['0']]"), end(""));
    assert_eq!(
        vllm(&format!("config: {{pp: 2}}, {four}")),
        end(" --tensor-parallel-size 2 --pipeline-parallel-size 2")
    );
    assert_eq!(vllm(&format!("args: ['-tp', '2'], {four}")), end(" -tp 2"));
    let of = |rest: &str| format!("{{engine: VLLM, image: i, model: m, {rest}}}");
    let gpus = "resources: {limits: {nvidia.com/gpu: 8, cpu: 4, memory: 1Gi}}";
    let in_pod = check(Place::Cluster, &of(gpus)).unwrap().replica(0, 8000, "/benchwright");
    assert_eq!(in_pod.args.join(" "), "m --host 0.0.0.0 --port 8000 --tensor-parallel-size 8");
    assert_refused(
        Place::Cluster,
        &of(&format!("tensorParallelSize: 16, {gpus}")),
        &["tensorParallelSize: is 16, and a replica has 8"],
    );
    for (rest, expected) in [
        ("tensorParallelSize: 0", "tensorParallelSize: is \"0\"; write Auto"),
        ("tensorParallelSize: many", "tensorParallelSize: is \"many\"; write Auto"),
        ("tensorParallelSize: 1.5", "tensorParallelSize: is \"1.5\"; write Auto"),
        (
            &format!("tensorParallelSize: 4, config: {{data_parallel_size: 2}}, {four}"),
            "tensorParallelSize: is 4, which takes 8 GPUs",
        ),
        (&format!("config: {{pp-size: 3}}, {four}"), "tensorParallelSize: is Auto, and the 4 GPUs"),
    ] {
        assert_refused(Place::Laptop, &of(rest), &[expected]);
    }
    let shared = "{engine: SGLang, model: m, tensorParallelSize: 4, devices: [[a, b, c, d]], config: {dp-size: 4, enable-dp-attention: true}}";
    check(Place::Laptop, shared).unwrap();
}

#[test]
fn no_option_is_given_twice() {
    let of = |rest: &str| format!("{{engine: VLLM, model: m, {rest}}}");
    for (rest, expected) in [
        ("maxModelLen: 5, args: [--max_model_len=6]", "args: has --max-model-len, which maxModelLen sets too"),
        ("dtype: half, config: {dtype: auto}", "config: has --dtype, which dtype sets too"),
        ("tensorParallelSize: 2, args: [-tp, '2']", "args: has --tensor-parallel-size, which tensorParallelSize"),
        ("args: [--model, n]", "args: has --model, which model sets too"),
        ("args: [--port, '1']", "args: has --port, and only spec.target.server.port"),
        ("config: {host: h}", "config: has --host, and Benchwright"),
        ("config: {ssl-keyfile: f}", "config: has --ssl-keyfile, and Benchwright calls"),
        ("config: {seed: 1}, args: [--seed=2]", "config: has --seed, and args has it too"),
        ("config: {max-loras: 1, max_loras: 2}", "config: has --max-loras, and the same option has another name there"),
    ] {
        assert_refused(Place::Laptop, &of(rest), &[expected]);
    }
    check(Place::Laptop, &of("args: [--middleware, a, --middleware, b]")).unwrap();
}

#[test]
fn what_an_engine_does_not_have_is_refused() {
    assert_refused(
        Place::Laptop,
        "{engine: Custom, command: [a], port: 9000, model: m, dtype: half}",
        &["model: has no effect with engine Custom", "dtype: has no effect with engine Custom"],
    );
    assert_refused(
        Place::Laptop,
        "{engine: Simulator, quantization: fp8, tensorParallelSize: 2}",
        &["tensorParallelSize: has no effect with engine Simulator", "quantization: has no effect"],
    );
    assert_refused(Place::Laptop, "{engine: VLLM}", &["model: is missing"]);
    check(Place::Laptop, "{engine: VLLM, args: [--config, serve.yaml]}").unwrap();
    check(Place::Laptop, "{engine: VLLM, config: {model: m}}").unwrap();
}

#[test]
fn each_place_has_fields_of_its_own() {
    assert_refused(Place::Laptop, "{engine: Custom}", &["command: is missing; engine Custom"]);
    assert_refused(Place::Laptop, "{engine: Custom, command: [benchwright, sim]}", &["args: has no $(PORT)"]);
    for names in ["port: 8000", "args: ['$(PORT)']", "env: {PORT: '$(PORT)'}"] {
        assert!(check(Place::Laptop, &format!("{{engine: Custom, command: [a], {names}}}")).is_ok(), "{names}");
    }
    assert_refused(Place::Laptop, "{engine: VLLM, modelClaim: {claimName: weights}}", &["modelClaim: needs a cluster"]);
    assert_refused(
        Place::Cluster,
        "{engine: VLLM, model: m, devices: [['0']]}",
        &["image: is missing; engine VLLM", "devices: works outside"],
    );
    check(Place::Laptop, "{engine: VLLM, model: m, image: i, resources: {limits: {nvidia.com/gpu: 1}}}").unwrap();
    check(Place::Cluster, "{engine: Simulator}").unwrap();
    let claim = "{engine: VLLM, image: i, modelClaim: {claimName: weights, path: a/b}}";
    let start = check(Place::Cluster, claim).unwrap().replica(0, 8000, "/benchwright");
    assert_eq!(start.args[0], "/model/a/b");
    let custom = check(Place::Cluster, "{engine: Custom, image: i, args: ['$(PORT)']}").unwrap().replica(3, 8000, "/b");
    assert_eq!((custom.command, custom.args), (vec![], vec!["8000".to_owned()]));
    assert_refused(
        Place::Cluster,
        "{engine: Custom, image: i, command: [a, 'b$(REPLICA)'], env: {A: '$(REPLICA)'}}",
        &["command: holds \"b$(REPLICA)\"; $(REPLICA) works outside of a cluster only", "env.A: holds"],
    );
    assert_refused(
        Place::Cluster,
        "{engine: VLLM, image: i, model: m, modelClaim: {claimName: w, path: a/..}, hubToken: {secretKeyRef: {name: a, key: b}}, env: {HF_TOKEN: ''}}",
        &["env: holds HF_TOKEN", "model: is set beside modelClaim", "modelClaim.path: is \"a/..\""],
    );
}

#[test]
fn replicas_have_ports_and_devices_of_their_own() {
    let server =
        "{engine: VLLM, model: m, port: 9000, devices: [['0', '1'], ['2', '3']], env: {A: 'x-$(PORT)-$(REPLICA)'}}";
    let found = check(Place::Laptop, server).unwrap();
    assert_eq!((found.replicas, found.port), (2, Some(9000)));
    let second = found.replica(1, 9001, "");
    assert_eq!(second.env["CUDA_VISIBLE_DEVICES"], "2,3");
    assert_eq!((second.env["A"].as_str(), second.port), ("x-9001-1", 9001));
    let of = |rest: &str| format!("{{engine: VLLM, model: m, {rest}}}");
    assert_eq!(check(Place::Laptop, &of("replicas: 2")).unwrap().port, None);
    assert_eq!(check(Place::Cluster, &of("image: i, replicas: 2")).unwrap().port, Some(8000));
    for (rest, expected) in [
        ("replicas: 3, devices: [['0'], ['1']]", "devices: has 2 sets, and replicas is 3"),
        ("devices: [['0'], ['1', '2']]", "devices: has sets of 1 and of 2"),
        ("devices: [[]]", "devices[0]: has 0 devices"),
        ("devices: [['0', '0']]", "devices[0]: has \"0\" twice"),
        ("devices: [['0; rm']]", "devices[0]: has \"0; rm\"; write the number"),
        ("devices: [['0']], env: {CUDA_VISIBLE_DEVICES: '1'}", "env: holds CUDA_VISIBLE_DEVICES"),
        ("replicas: 0", "replicas: is 0"),
        ("replicas: 65", "replicas: is 65"),
        ("port: 0", "port: is 0"),
        ("port: 65535, replicas: 2", "port: is 65535, and 2 replicas"),
    ] {
        assert_refused(Place::Laptop, &of(rest), &[expected]);
    }
}

#[test]
fn what_no_process_can_be_given_is_refused() {
    let of = |rest: &str| format!("{{engine: VLLM, model: m, {rest}}}");
    let long = format!("args: ['{}']", "x".repeat(1025));
    for (rest, expected) in [
        ("args: [\"a\\0\"]", "args[0]: holds a character NUL"),
        (long.as_str(), "args[0]: has 1025 characters"),
        ("command: ['']", "command[0]: is empty"),
        ("env: {'a-b': x}", "env: has \"a-b\""),
        ("env: {A: \"\\0\"}", "env.A: holds a character NUL"),
        ("config: {seed: }", "config.seed: is empty"),
        ("dtype: 'a b'", "dtype: is \"a b\""),
        ("gpuMemoryUtilization: 0", "gpuMemoryUtilization: is \"0\""),
        ("gpuMemoryUtilization: '1.1'", "gpuMemoryUtilization: is \"1.1\""),
        ("maxNumSeqs: 0", "maxNumSeqs: is 0"),
    ] {
        assert_refused(Place::Laptop, &of(rest), &[expected]);
    }
    assert_refused(Place::Laptop, "{engine: VLLM, model: --x}", &["model: is \"--x\""]);
}

#[test]
fn a_secret_is_refused_and_not_repeated() {
    let of = |rest: &str| format!("{{engine: VLLM, model: m, {rest}}}");
    for (rest, expected) in [
        ("args: [--api-key, s3cret]", "args: has --api-key, a secret"),
        ("args: [--api_key=s3cret]", "args: has --api-key, a secret"),
        ("config: {hf-token: s3cret}", "config: has --hf-token, a secret"),
        ("env: {HF_TOKEN: s3cret}", "env.HF_TOKEN: is a secret"),
        ("env: {MY_API_KEY: s3cret}", "env.MY_API_KEY: is a secret"),
    ] {
        assert_refused(Place::Laptop, &of(rest), &[expected]);
        assert!(!check(Place::Laptop, &of(rest)).unwrap_err().concat().contains("s3cret"));
    }
    check(Place::Laptop, &of("env: {TOKENIZERS_PARALLELISM: 'false', MONKEY: a}, args: [--tokenizer, t]")).unwrap();
}

#[test]
fn a_managed_server_survives_its_file() {
    let server = "{engine: VLLM, model: m, port: 1, args: [--x], env: {A: b}, devices: [['0']], distribution: LeastOutstanding, lifecycle: Keep}";
    let found = check(Place::Laptop, server).unwrap();
    let text = serde_saphyr::to_string(&found).unwrap();
    assert_eq!(serde_saphyr::from_str::<ManagedServer>(&text).unwrap(), found);
}
