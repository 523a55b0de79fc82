//! All integration tests of this crate in one program, so that they are linked only once.

mod assets;
mod browser;
mod drawings;
mod hostile;
mod palette;
#[cfg(feature = "png")]
mod pictures;
mod properties;
mod samples;
