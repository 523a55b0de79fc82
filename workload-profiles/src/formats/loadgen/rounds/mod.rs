//! Rounds of MLPerf Inference, and LoadGen's built-in mlperf.conf for each.
//!
//! Only the seeds differ between the rounds here. All other values are from v6.1. If an older round had other limits, the profile has to set these
//! limits. Only v6.1 has the seeds of TEST05, which no language model uses.

use std::fmt::Write as _;

/// The lines that all rounds share.
const MODELS: &str = include_str!("mlperf.conf");

/// A round of MLPerf Inference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Round {
    /// The round of April 2025.
    V5_0,
    /// The round of September 2025.
    V5_1,
    /// The round of April 2026.
    V6_0,
    /// The round of LoadGen 6.0.17.
    #[default]
    V6_1,
}

impl Round {
    /// All rounds, the newest first.
    pub const ALL: [Round; 4] = [Round::V6_1, Round::V6_0, Round::V5_1, Round::V5_0];

    /// The name of the round: `v6.1`.
    pub fn name(self) -> &'static str {
        match self {
            Round::V5_0 => "v5.0",
            Round::V5_1 => "v5.1",
            Round::V6_0 => "v6.0",
            Round::V6_1 => "v6.1",
        }
    }

    /// Returns the round with a name such as `v6.1` or `6.1`.
    pub fn from_name(name: &str) -> Option<Round> {
        Round::ALL.into_iter().find(|it| it.name() == name || it.name()[1..] == *name)
    }

    /// Returns `qsl_rng_seed`, `sample_index_rng_seed` and `schedule_rng_seed`, in this order.
    pub fn seeds(self) -> [u64; 3] {
        match self {
            Round::V5_0 => [6_023_615_788_873_153_749, 15_036_839_855_038_426_416, 9_933_818_062_894_767_841],
            Round::V5_1 => [1_780_908_523_862_526_354, 14_771_362_308_971_278_857, 18_209_322_760_996_052_031],
            Round::V6_0 => [2_465_351_861_681_999_779, 14_276_810_075_590_677_512, 3_936_089_224_930_324_775],
            Round::V6_1 => [2_085_463_073_848_966_840, 2_747_215_439_041_700_203, 16_159_082_839_903_944_936],
        }
    }

    /// Returns the text of the round's mlperf.conf.
    pub fn mlperf_conf(self) -> String {
        const TEST05: [u64; 3] = [7_975_553_102_935_885_558, 11_403_566_307_062_068_064, 15_816_800_565_822_761_601];
        let mut text = format!("{MODELS}\n# The seeds of {}.\n", self.name());
        let test05 = (self == Round::V6_1).then_some(("test05_", TEST05));
        for (prefix, seeds) in [("", self.seeds())].into_iter().chain(test05) {
            for (name, seed) in ["qsl", "sample_index", "schedule"].into_iter().zip(seeds) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "*.*.{prefix}{name}_rng_seed = {seed}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loadgen::{ConfFile, Scenario, Settings, apply_config};

    fn settings(round: Round, model: &str) -> Settings {
        let mut settings = Settings::default();
        let remarks =
            apply_config(ConfFile::MlperfConf, Some(&round.mlperf_conf()), model, Scenario::Offline, &mut settings)
                .unwrap();
        assert_eq!(remarks, [], "{model}");
        settings
    }

    #[test]
    fn every_round_is_found_by_its_name_and_has_seeds_of_its_own() {
        for round in Round::ALL {
            assert_eq!(Round::from_name(round.name()), Some(round));
            let of_round = settings(round, "llama2-70b");
            let seeds = [of_round.qsl_rng_seed, of_round.sample_index_rng_seed, of_round.schedule_rng_seed];
            assert_eq!(seeds, round.seeds());
            assert_eq!(of_round.min_query_count, 24_576);
            assert_eq!(Round::ALL.iter().filter(|it| it.seeds() == seeds).count(), 1);
        }
        assert_eq!((Round::from_name("6.1"), Round::from_name("v4.1")), (Some(Round::default()), None));
    }
}
