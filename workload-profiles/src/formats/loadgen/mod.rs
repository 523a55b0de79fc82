//! The settings of an MLPerf LoadGen test: their names and defaults, the configuration files that set them, and what
//! LoadGen makes of them before a test.
//!
//! Everything here follows LoadGen 6.0.17. What is done with the settings, queries and results, is the launcher's.

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
pub use rounds::Round;
pub use settings::{Mode, Qsl, Scenario, Settings};
pub use workload::{AutoQps, LoadGen, LoadGenTest, Phase};
