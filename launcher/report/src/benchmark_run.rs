//! Writes `benchmarkrun.yaml`: a BenchmarkRun that repeats a run. It contains the rendered profile, and the seed and prompt salt of the run. So
//! workload, schedule and prompts are the same. Secrets remain references, and credentials in the profile are blacked out. The comment at the top of
//! the file lists what the file cannot express.

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use crds::{
    EffectiveSpec,
    benchmark_run::{
        BenchmarkRunSpec, GROUP, KIND, KeyRef, MAX_INLINE_PROFILE_BYTES, PATHS_FROM, Profile, ServerEngine, VERSION,
    },
    resolve::{ResolvedRun, Settings},
    wording::one_line,
    yaml,
};
use serde_json::json;

use document::redact;

/// The name of the file in a results folder.
pub const FILE_NAME: &str = "benchmarkrun.yaml";

/// The inputs of a run.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The resolved run.
    pub run: &'a ResolvedRun,
    /// The spec as the user wrote it.
    pub spec: &'a BenchmarkRunSpec,
    /// The rendered profile.
    pub profile_text: &'a str,
    /// The base folder of relative paths in the profile; `None` if it is the profile's folder in a pod.
    pub paths_from: Option<&'a Path>,
    /// Whether the rate of the profile's LoadGen tests is found by a search.
    pub searches_rate: bool,
    /// Whether stages of the profile take their rates from earlier stages.
    pub measures_rates: bool,
}

/// Returns the text of the file.
pub(super) fn render(inputs: &Inputs<'_>) -> String {
    let mut notes = Vec::new();
    let (run, mut spec) = (inputs.run, inputs.spec.clone());
    spec.profile = profile(inputs, &mut notes);
    EffectiveSpec::new(&spec, &run.run.uid, &Settings::default()).write_into(&mut spec);
    spec.seed = Some(run.seed.0);
    // If the file requested several runs, not all of them could send the prompts of this run. So it requests only one.
    spec.repeat = None;
    // The resolved timeout can be the default for a run outside a cluster, which is too short in a cluster.
    spec.target.readiness.timeout_seconds = inputs.spec.target.readiness.timeout_seconds;
    spec.suspend = false;
    spec.cancel = None;
    if inputs.searches_rate {
        notes.push(
            "The rate is searched again, because target_qps in the profile asks for that, so it may differ. The rate of this run is \
             server_target_qps or offline_expected_qps in workload.loadgen.tests of report.json; to use the same rate, write it as target_qps \
             into the profile."
                .into(),
        );
    }
    if inputs.measures_rates {
        notes.push(
            "Some stages take their rates from the stages before them. These rates are measured again and may differ from the rates \
             of this run, which are askedRequestsPerSecond of these stages in report.json."
                .into(),
        );
    }
    let in_cluster = !run.run.namespace.is_empty();
    if !in_cluster {
        let baseline = run.slo.as_ref().and_then(|it| it.baseline.as_ref()?.report.clone());
        for (flag, path) in [("--token-file", &run.token_file), ("--ca-file", &run.ca_file), ("--baseline", &baseline)]
        {
            notes.extend(path.as_ref().map(|it| format!("Outside of a cluster add {flag} {}.", it.display())));
        }
    } else if !spec.profile.files.is_empty() {
        notes.push("Outside of a cluster, the files of spec.profile.files must be in the folder of this file.".into());
    }
    if needs_image(inputs.spec) {
        notes.push("A cluster needs spec.target.server.image, and refuses the file without it.".into());
    }
    let mut metadata = json!({"name": run.run.name});
    if in_cluster {
        metadata["namespace"] = json!(run.run.namespace);
    }
    if let Some(folder) = inputs.paths_from {
        metadata["annotations"] = json!({PATHS_FROM: folder});
    }
    let document = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": KIND,
        "metadata": metadata,
        "spec": serde_json::to_value(&spec).expect("text keys and finite numbers always serialize"),
    });
    head(&notes) + &yaml::write(&document)
}

/// Whether the file lacks a server image, which a cluster needs. The simulated server needs none, because it is part of our own image.
fn needs_image(spec: &BenchmarkRunSpec) -> bool {
    spec.target.server.as_ref().is_some_and(|it| it.image.is_none() && it.engine != ServerEngine::Simulator)
}

fn head(notes: &[String]) -> String {
    let mut head = format!(
        "# Runs this benchmark again, with the same workload, schedule and prompts:\n\
         #   benchwright run -f {FILE_NAME}\n\
         #   kubectl apply -f {FILE_NAME}    (delete the earlier run of this name first, or change the name)\n\
         # For new prompts, which no server has in its cache, remove spec.profile.promptSalt.\n\
         # If the run needs more than this file, the end of report.md says what.\n"
    );
    for note in notes {
        head.push_str(&format!("# {}\n", one_line(note)));
    }
    head
}

/// The profile of the file: the rendered text, so that it contains no placeholders.
fn profile(inputs: &Inputs<'_>, notes: &mut Vec<String>) -> Profile {
    let text = redact::profile(inputs.profile_text);
    if let Cow::Owned(_) = text {
        let redacted = crds::resolve::REDACTED;
        notes.push(format!("The profile contained credentials. Write them in place of {redacted} before a run."));
    }
    let profile = Profile {
        prompt_salt: Some(inputs.run.prompt_salt.clone()),
        files: inputs.spec.profile.files.clone(),
        ..Profile::default()
    };
    let problem = match template(inputs.run, &text) {
        Some(template) if template.len() <= MAX_INLINE_PROFILE_BYTES => {
            return Profile { inline: Some(template), ..profile };
        }
        Some(template) if template == text => "The profile is too long for spec.profile.inline.",
        Some(_) => {
            "The profile is too long for spec.profile.inline, and has braces that a run would read as a template: before a run, \
             write {{ \"{{\" }} in its file in place of each {{, and likewise for {% and {#."
        }
        None => {
            "The profile has braces or REPLACE_ENV_ that a run would read as a template, and no template produces this text: \
             before a run, write these places in another way."
        }
    };
    let name = format!("{}-profile", inputs.run.run.name);
    notes.push(format!(
        "{problem} It is profile.yaml beside this file. Outside of a cluster add --profile profile.yaml. For a cluster: \
         kubectl create configmap {name} --from-file=profile.yaml"
    ));
    Profile { config_map_ref: Some(KeyRef { name, key: "profile.yaml".into() }), ..profile }
}

/// Texts that show that a profile contains template syntax, of Tera or of llm-d-benchmark.
const SIGNS: [&str; 4] = ["{{", "{%", "{#", "REPLACE_ENV_"];

/// Returns a template that renders to `text`: the text itself, or its escaped form if it contains template syntax. `None` if neither renders to
/// `text`.
fn template(run: &ResolvedRun, text: &str) -> Option<String> {
    if !SIGNS.iter().any(|it| text.contains(it)) {
        return Some(text.to_owned());
    }
    let renders = |template: &String| {
        let Ok(variables) = workload_profiles::variables(run, &BTreeMap::new()) else { return false };
        let prepared = workload_profiles::prepare(run, template, &variables, &BTreeMap::new());
        prepared.is_ok_and(|it| it.text == text)
    };
    [text.to_owned(), escaped(text)].into_iter().find(renders)
}

/// Replaces each piece of Tera syntax by a tag that renders to it.
fn escaped(text: &str) -> String {
    let mut template = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = SIGNS[..3].iter().filter_map(|it| rest.find(it)).min() {
        let (before, from) = rest.split_at(at);
        let (sign, after) = from.split_at(2);
        template.push_str(&format!("{before}{{{{ \"{sign}\" }}}}"));
        rest = after;
    }
    template + rest
}

#[cfg(test)]
mod tests {
    use crds::{
        benchmark_run::Harness,
        resolve::{RunIdentity, Settings, resolve},
    };
    use proptest::prelude::*;

    use super::*;

    fn inputs_of(namespace: &str, spec: &str) -> (BenchmarkRunSpec, ResolvedRun) {
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(spec).unwrap();
        let run = RunIdentity {
            name: "chat".into(),
            namespace: namespace.into(),
            uid: "u".into(),
            attempt: 2,
            repeat_number: None,
        };
        let run = resolve(run, &spec, &Settings::default()).unwrap();
        (spec, run)
    }

    fn check(namespace: &str, spec: &str, profile_text: &str) -> (String, BenchmarkRunSpec) {
        let (spec, run) = inputs_of(namespace, spec);
        let text = render(&Inputs {
            run: &run,
            spec: &spec,
            profile_text,
            paths_from: None,
            searches_rate: false,
            measures_rates: false,
        });
        let read = yaml::read(&text).unwrap().unwrap();
        let checked = crds::schema::check(&read.root);
        assert_eq!((read.problems, checked.problems, checked.dropped), Default::default(), "{text}");
        let spec = serde_json::from_value(checked.value["spec"].clone()).unwrap();
        (text, spec)
    }

    const PROFILE: &str = "load: {type: constant, stages: [{rate: 1, duration: 2}]} # as asked\n\
                           data: {type: random, input_distribution: {mean: 10, max: 20}, output_distribution: {mean: 12, max: 20}}\n";

    #[test]
    fn a_run_in_a_cluster_is_repeated_with_its_references() {
        let (text, spec) = check(
            "bench",
            "{target: {serviceRef: {name: gateway}, auth: {secretKeyRef: {name: a, key: b}}}, seed: 7, suspend: true, \
             profile: {name: sanity_random, variables: {isl: 5}, overrides: {a: b}, files: [{claim: {claimName: data}}]}}",
            PROFILE,
        );
        let metadata = "metadata:\n  name: chat\n  namespace: bench\n";
        assert!(text.contains(metadata) && text.contains("  inline: |\n"), "{text}");
        let (written, _) = inputs_of(
            "bench",
            "{target: {serviceRef: {name: gateway, port: 80, scheme: HTTP, path: /}, auth: {secretKeyRef: {name: a, key: b}}}}",
        );
        assert_eq!((spec.target.service_ref, spec.target.auth), (written.target.service_ref, written.target.auth));
        assert_eq!((spec.seed, spec.suspend, spec.validity.max_steal_share), (Some(7), false, Some("0.1".into())));
        assert_eq!(
            spec.profile,
            Profile {
                inline: Some(PROFILE.into()),
                prompt_salt: Some("u-a2".into()),
                files: spec.profile.files.clone(),
                ..Profile::default()
            }
        );
        assert_eq!(spec.profile.files.len(), 1);
    }

    #[test]
    fn a_server_without_an_image_is_not_for_a_cluster() {
        for (server, is_noted) in [
            ("{engine: VLLM, model: m}", true),
            ("{engine: VLLM, model: m, image: i}", false),
            ("{engine: Simulator}", false),
        ] {
            let (text, _) = check("", &format!("target: {{server: {server}}}"), PROFILE);
            assert_eq!(text.contains("# A cluster needs spec.target.server.image"), is_noted, "{text}");
        }
    }

    #[test]
    fn an_empty_text_stays_where_the_user_wrote_it() {
        let launcher = "launcher: {scheduling: {nodeSelector: {node-role.kubernetes.io/bench: ''}}}";
        let (_, spec) = check("bench", &format!("{{target: {{simulator: {{}}}}, {launcher}}}"), PROFILE);
        assert_eq!(spec.launcher.scheduling.node_selector["node-role.kubernetes.io/bench"], "");
    }

    #[test]
    fn the_readiness_timeout_is_written_only_where_the_user_wrote_it() {
        for (readiness, expected) in [("", None), (", readiness: {timeoutSeconds: 90}", Some(90))] {
            let (_, spec) = check("", &format!("target: {{simulator: {{}}{readiness}}}"), PROFILE);
            assert_eq!(spec.target.readiness.timeout_seconds, expected);
        }
    }

    #[test]
    fn credentials_of_a_profile_are_blacked_out_and_told() {
        let profile = format!("{PROFILE}api: {{type: completion, headers: {{Authorization: Bearer sk-1}}}}\n");
        let (text, _) = check("", "target: {simulator: {}}", &profile);
        assert!(!text.contains("sk-1") && text.contains("# The profile contained credentials."), "{text}");
    }

    #[test]
    fn a_profile_that_looks_like_a_template_is_not_rendered_again() {
        let profile = format!("{PROFILE}# {{{{ model }}}} and {{% if %}} are no template here\n");
        let (_, run) = inputs_of("", "target: {simulator: {}}");
        let (_, spec) = check("", "target: {simulator: {}}", &profile);
        let variables = workload_profiles::variables(&run, &BTreeMap::new()).unwrap();
        let again = workload_profiles::prepare(&run, &spec.profile.inline.unwrap(), &variables, &BTreeMap::new());
        assert_eq!(again.unwrap().text, profile);
    }

    #[test]
    fn a_large_profile_stays_in_its_file() {
        let profile = format!("{PROFILE}# {}\n", "x".repeat(MAX_INLINE_PROFILE_BYTES));
        let (text, spec) = check("", "target: {simulator: {}}", &profile);
        assert!(
            text.contains("--profile profile.yaml") && text.contains("kubectl create configmap chat-profile"),
            "{text}"
        );
        assert_eq!(spec.profile.config_map_ref.unwrap().name, "chat-profile");
        assert_eq!(spec.harness, Some(Harness::InferencePerf));
    }

    #[test]
    fn a_profile_that_only_its_file_can_hold_says_why() {
        let large = format!("{PROFILE}# {{{{ model }}}} {}\n", "x".repeat(MAX_INLINE_PROFILE_BYTES));
        let (text, _) = check("", "target: {simulator: {}}", &large);
        assert!(text.contains("write {{ \"{{\" }} in its file"), "{text}");
        let (_, run) = inputs_of("", "target: {simulator: {}}");
        let variables = workload_profiles::variables(&run, &BTreeMap::new()).unwrap();
        let corrected = large.replace("{{", "{{ \"{{\" }}");
        assert_eq!(workload_profiles::prepare(&run, &corrected, &variables, &BTreeMap::new()).unwrap().text, large);

        let (text, _) =
            check("", "target: {simulator: {}}", &format!("{PROFILE}# REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL\n"));
        assert!(text.contains("no template produces this text") && !text.contains("too long"), "{text}");
    }

    #[test]
    fn a_rate_that_was_searched_is_told() {
        let (spec, run) = inputs_of("", "target: {simulator: {}}");
        let render = |searches_rate, measures_rates| {
            let (profile_text, paths_from) = (PROFILE, None);
            render(&Inputs { run: &run, spec: &spec, profile_text, paths_from, searches_rate, measures_rates })
        };
        let neither = render(false, false);
        assert!(render(true, false).contains("# The rate is searched again") && !neither.contains("searched"));
        let (measured, words) = (render(false, true), "are measured again");
        assert!(measured.contains(words) && !measured.contains("searched") && !neither.contains(words));
    }

    proptest! {
        #[test]
        fn every_text_comes_back(inline in any::<String>(), salt in "[!-~]{1,20}") {
            let document = json!({"spec": {"profile": {"inline": inline, "promptSalt": salt}}});
            let text = yaml::write(&document);
            let read = yaml::read(&text).map_err(|it| TestCaseError::fail(it.to_string()))?.unwrap();
            prop_assert_eq!(read.root.to_json(), document);
        }
    }
}
