//! MLPerf LoadGen: `profile` reads a profile of `harness: loadgen`. The other modules contain the settings of a test: their names and
//! defaults, the configuration files that set them, and the settings that LoadGen derives from them before a test.
//!
//! Everything follows LoadGen 6.0.17. The launcher issues the queries and computes the results.

mod audit;
mod conf;
mod effective;
pub(super) mod profile;
mod rounds;
mod settings;
mod workload;

pub use audit::{audit_config, audit_tests};
pub use conf::{ConfError, ConfFile, LineError, Remark, apply_config};
pub(crate) use conf::{KEYS, SettingType};
pub use effective::Effective;
pub use profile::{canonical_benchmark, samples_of_benchmark};
pub use rounds::Round;
pub use settings::{Mode, Qsl, Scenario, Settings};
pub use workload::{AutoQps, LoadGen, LoadGenTest, Phase};
