//! docs/benchmarkrun.md names every field of the API, and the API accepts its example.

use crds::{BenchmarkRun, BenchmarkRunSpec, EffectiveSpec, Settings};
use serde_json::Value;

const DOC: &str = include_str!("../../docs/benchmarkrun.md");

fn fields(schema: &Value, found: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (name, inner) in properties {
            found.push(name.clone());
            fields(inner, found);
        }
    }
    fields_of_items(schema, found);
}

fn fields_of_items(schema: &Value, found: &mut Vec<String>) {
    if schema["items"].is_object() {
        fields(&schema["items"], found);
    }
}

#[test]
fn every_field_stands_in_the_documentation() {
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    let mut found = Vec::new();
    fields(&schema["spec"], &mut found);
    fields(&schema["status"], &mut found);
    assert!(found.len() > 80, "the schema was not read: {found:?}");
    let word = |text: &str, name: &str| text.split(|it: char| !it.is_ascii_alphanumeric()).any(|it| it == name);
    let missing: Vec<_> = found.iter().filter(|name| !word(DOC, name)).collect();
    assert!(missing.is_empty(), "docs/benchmarkrun.md does not name {missing:?}");
}

#[test]
fn every_field_has_a_description() {
    fn check(path: &str, schema: &Value) {
        if let Some(properties) = schema["properties"].as_object() {
            for (name, inner) in properties {
                let path = format!("{path}.{name}");
                assert!(inner["description"].as_str().is_some_and(|it| !it.is_empty()), "{path} has no description");
                check(&path, inner);
                check(&path, &inner["items"]);
            }
        }
    }
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    check("spec", &schema["spec"]);
    check("status", &schema["status"]);
}

/// The schema contains no defaults, so the description is the only place where `kubectl explain` can show one.
#[test]
fn every_description_tells_the_default_that_is_filled_in() {
    fn check(path: &str, schema: &Value, effective: &Value) {
        if let Some(fields) = effective.as_object() {
            for (name, inner) in fields {
                check(&format!("{path}.{name}"), &schema["properties"][name], inner);
            }
            return;
        }
        let default = match effective {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" and "),
            other => other.to_string(),
        };
        let description = schema["description"].as_str().unwrap_or_default();
        let told = [".", ",", ";"].iter().any(|end| description.contains(&format!("Default: {default}{end}")));
        assert!(told, "{path}: {description:?} does not tell the default {default}");
    }
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    for target in ["{simulator: {}}", "{serviceRef: {name: gateway}}", "{server: {engine: Simulator}}"] {
        let spec = serde_saphyr::from_str(&format!("{{target: {target}}}")).unwrap();
        let mut effective = serde_json::to_value(EffectiveSpec::new(&spec, "", &Settings::default())).unwrap();
        // Three fields have no default of their own: the profile has a default as a whole, the launcher's defaults are settings of the operator, and
        // the seed is drawn.
        for field in ["profile", "launcher", "seed"] {
            effective.as_object_mut().unwrap().remove(field).unwrap();
        }
        check("spec", &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"], &effective);
    }
}

#[test]
fn every_number_of_the_spec_has_a_bound_that_its_type_holds() {
    fn check(path: &str, schema: &Value) {
        if schema["type"] == "integer" {
            assert!(
                schema["maximum"].is_number(),
                "{path} has no maximum: a larger number would be stored and never read"
            );
        }
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            check(&format!("{path}.{name}"), inner);
        }
        if schema["items"].is_object() {
            check(&format!("{path}[]"), &schema["items"]);
        }
    }
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    check("spec", &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]);
}

#[test]
fn the_example_has_every_default_as_it_is() {
    let start = DOC.find("```yaml\n").unwrap() + "```yaml\n".len();
    let end = start + DOC[start..].find("```").unwrap();
    let example: BenchmarkRun = serde_saphyr::from_str(&DOC[start..end]).unwrap();
    let smallest = serde_saphyr::from_str("{target: {simulator: {}}, seed: 42}").unwrap();
    let effective = |spec: &BenchmarkRunSpec| EffectiveSpec::new(spec, "", &Settings::default());
    assert_eq!(effective(&example.spec), effective(&smallest));
}

const LLM_D_BENCHMARK: &str = include_str!("../../docs/llm-d-benchmark.md");

/// The rows of the page's tables: the parameters of llm-d-benchmark, and their equivalents in Benchwright.
fn parameters() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = LLM_D_BENCHMARK.lines().filter(|it| it.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 2, "{row}");
        (cells[0], cells[1])
    })
}

/// The parts of a text that are in backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn assert_is_field(schema: &Value, path: &str) {
    let mut inner = schema;
    for name in path.split('.') {
        let (name, items) = name.strip_suffix("[]").map_or((name, false), |it| (it, true));
        inner = &inner["properties"][name];
        assert!(inner.is_object(), "docs/llm-d-benchmark.md names {path}, and there is no {name}");
        if items {
            inner = &inner["items"];
        }
    }
}

#[test]
fn each_field_in_the_table_for_users_of_llm_d_benchmark_exists() {
    let crd: Value = serde_saphyr::from_str(&crds::crd_yaml().unwrap()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let values: Value = serde_saphyr::from_str(include_str!("../../charts/benchwright/values.yaml")).unwrap();
    let mut fields = 0;
    for (_, here) in parameters() {
        for path in code(here).filter(|it| it.starts_with("spec.") || it.starts_with("status.")) {
            assert_is_field(schema, path);
            fields += 1;
        }
        for (_, before) in here.match_indices("` of the chart").map(|(end, _)| here[..end].rsplit_once('`').unwrap()) {
            let value = before.split('.').fold(&values, |inner, name| &inner[name]);
            assert!(!value.is_null(), "the chart has no value {before}");
        }
    }
    assert!(fields > 40, "the table was not read: {fields} fields");
}

/// The flags of `llmdbenchmark run` at 8bc9f1dd, and the variables of its last `run.sh`.
#[test]
fn each_parameter_of_llm_d_benchmark_has_its_place() {
    let named: Vec<&str> = parameters().flat_map(|(names, _)| code(names)).collect();
    let flags = "step namespace methods gateway-class kubeconfig model harness workload workload-file-path experiments overrides output \
                 parallelism stack list-endpoints wait-timeout data-access-lookup-attempts data-access-lookup-delay \
                 treatment-max-attempts treatment-stop-on-error validate-failures dataset data-access-timeout pvc-bind-timeout \
                 monitoring serviceaccount envvarspod skip debug analyze fast-collect endpoint-url config generate-config no-pvc \
                 no-cleanup spec workspace base-dir dry-run verbose non-admin run-description run-keywords set cluster-config";
    let variables = "DEPLOY_SCENARIO DEPLOY_MODEL_LIST VLLM_COMMON_NAMESPACE HARNESS_NAMESPACE DEPLOY_METHODS HARNESS_NAME \
                     HARNESS_PROFILE_HARNESS_LIST HARNESS_EXPERIMENT_PROFILE HARNESS_EXPERIMENT_PROFILE_OVERRIDES \
                     HARNESS_EXPERIMENT_TREATMENTS HARNESS_EXECUTABLE HARNESS_CONDA_ENV_NAME HARNESS_WAIT_TIMEOUT HARNESS_CPU_NR \
                     HARNESS_CPU_MEM HARNESS_SERVICE_ACCOUNT HARNESS_PVC_NAME HARNESS_PVC_SIZE HARNESS_CONTAINER_IMAGE \
                     HARNESS_LOAD_PARALLELISM HARNESS_OUTPUT HARNESS_SKIP_RUN HARNESS_DEBUG HARNESS_ENVVARS_TO_YAML \
                     HARNESS_INFERENCE_PERF_RAYON_NUM_THREADS RUN_EXPERIMENT_ID RUN_EXPERIMENT_RESULTS_DIR_PREFIX \
                     RUN_EXPERIMENT_ANALYZE_LOCALLY RUN_WORKSPACE_DIR RUN_DATASET_URL RUN_DATASET_DIR RUN_DATASET_FILE \
                     CONTROL_WAIT_TIMEOUT CONTROL_WAIT_PERIOD VLLM_COMMON_METRICS_SCRAPE_ENABLED";
    let flags = flags.split_whitespace().map(|it| format!("--{it}"));
    let variables = variables.split_whitespace().map(|it| format!("LLMDBENCH_{it}"));
    let missing: Vec<String> = flags.chain(variables).filter(|it| !named.contains(&it.as_str())).collect();
    assert_eq!(missing, Vec::<String>::new(), "docs/llm-d-benchmark.md");
}
