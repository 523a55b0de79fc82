//! All integration tests of this crate. They are one program, so that they are linked only once.

mod chart_values;
mod cluster;
mod control_plane;
mod disruptions;
mod documents;
mod flux;
mod gitops;
mod helm;
mod kueue;
mod monitoring;
mod random_runs;
mod restart;
mod rights;
mod rules;
mod runs;
mod soak;
mod upgrade;
