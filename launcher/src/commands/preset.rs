//! The presets of the simulator, as arguments.

use clap::ValueEnum;
use crds::benchmark_run::SimulatorPreset;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum PresetArg {
    /// An 8B model on one data-centre GPU: 10 ms between tokens.
    #[default]
    Gpu,
    /// A tiny model on a CPU: 2.3 ms between tokens.
    Tiny,
    /// Every step takes no time.
    Instant,
}

impl From<PresetArg> for SimulatorPreset {
    fn from(preset: PresetArg) -> Self {
        match preset {
            PresetArg::Gpu => SimulatorPreset::Gpu,
            PresetArg::Tiny => SimulatorPreset::Tiny,
            PresetArg::Instant => SimulatorPreset::Instant,
        }
    }
}
