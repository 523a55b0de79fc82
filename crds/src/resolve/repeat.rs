//! How many times a load is run, and which runs cannot be repeated.

use super::{EffectiveSpec, Errors};
use crate::{
    benchmark_run::{BenchmarkRunSpec, Harness, MAX_REPEATS},
    wording::quoted,
};

pub(super) fn check(spec: &BenchmarkRunSpec, effective: &EffectiveSpec, errors: &mut Errors) {
    let repeat = effective.repeat;
    if !(1..=MAX_REPEATS).contains(&repeat) {
        errors.add("spec.repeat", &format!("is {repeat}; write a whole number from 1 to {MAX_REPEATS}"));
    }
    if repeat < 2 {
        return;
    }
    if effective.harness == Harness::Loadgen {
        let message =
            format!("is {repeat}, and LoadGen tests cannot be repeated; take it out, and create one run per repeat");
        errors.add("spec.repeat", &message);
    }
    if let Some(salt) = &spec.profile.prompt_salt {
        let message = format!(
            "is {}; take it out, because with spec.repeat all runs would send the same prompts, which the server would then have in its cache",
            quoted(salt)
        );
        errors.add("spec.profile.promptSalt", &message);
    }
}
