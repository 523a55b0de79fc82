//! The eight shipped profiles for typical workloads of LLM serving.

use std::collections::BTreeMap;

use crds::{benchmark_run::Harness, resolve::ResolvedRun};

use crate::{
    prepare, shipped,
    variables::tests::{run, with},
    workload::{Goodput, LengthDistribution, RequestSource, Shape, Workload},
};

/// How predictable the length of an answer is, from the table of workloads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Predictable {
    High,
    Medium,
    Low,
}

/// The latency that matters to a user: the latency of each token, or of the whole request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Felt {
    PerToken,
    PerRequest,
}

fn workload(name: &str, user: &[&str]) -> Workload {
    let run = ResolvedRun { harness: Harness::Benchwright, ..run("m") };
    let template = shipped(Harness::Benchwright, name).unwrap();
    prepare(&run, template, &with("m", user).unwrap(), &BTreeMap::new()).unwrap().workload
}

fn lengths(workload: &Workload) -> (&LengthDistribution, &LengthDistribution) {
    let RequestSource::Random { input, output, .. } = &workload.requests else { panic!("{:?}", workload.requests) };
    (input, output)
}

#[test]
fn each_workload_has_the_lengths_and_the_objective_of_its_row() {
    use {Felt::*, Predictable::*};
    // For each workload of the table: the range that the mean input length must be in, whether input lengths vary, the range of the mean output
    // length, and the table's last two columns.
    for (name, isl, inputs_vary, osl, predictable, felt) in [
        ("interactive_chat", 500..4_000, true, 100..1_000, Medium, PerToken),
        ("text_classification", 200..4_000, true, 1..100, High, PerRequest),
        ("image_classification", 1..100, false, 1..100, High, PerRequest),
        ("summarization", 4_000..20_000, true, 1..200, Medium, PerToken),
        ("text_generation", 1..200, true, 1_000..4_000, Low, PerToken),
        ("translation", 500..4_000, true, 100..1_000, High, PerToken),
        ("code_completion", 2_000..20_000, true, 1..100, Medium, PerRequest),
        ("code_generation", 4_000..20_000, true, 100..1_000, Medium, PerRequest),
    ] {
        let workload = workload(name, &[]);
        let (input, output) = lengths(&workload);
        assert!(isl.contains(&(input.mean as u32)) && osl.contains(&(output.mean as u32)), "{name}");
        assert_eq!(input.shape != Shape::Fixed && input.std_dev >= input.mean * 0.7, inputs_vary, "{name}");
        let found = match (workload.sampling.ignore_eos, output.shape) {
            (true, Shape::Fixed) => High,
            (true, _) => Medium,
            (false, _) => Low,
        };
        assert_eq!(found, predictable, "{name}");
        let Goodput { ttft, itl, latency, .. } = workload.goodput;
        let found = match (ttft.and(itl), latency) {
            (Some(_), None) => PerToken,
            (None, Some(_)) => PerRequest,
            _ => panic!("{name} has one objective"),
        };
        assert_eq!(found, felt, "{name}");
    }
}

#[test]
fn only_the_classification_of_images_sends_images() {
    let images = workload("image_classification", &["width=640"]).images.unwrap();
    assert_eq!((images.per_request, images.sizes[0].width), (LengthDistribution::fixed(1), 640));
    assert!(workload("text_classification", &[]).images.is_none());
}

#[test]
fn spreads_and_bounds_follow_the_mean() {
    let workload = workload("summarization", &["isl=781", "osl=56", "rate=3"]);
    let (input, output) = lengths(&workload);
    assert_eq!((input.mean, input.std_dev, input.max), (781.0, 585.75, 3_124));
    assert_eq!((output.mean, output.std_dev, output.max), (56.0, 28.0, 224));
    assert_eq!(workload.stages[0].name, "r3");
}
