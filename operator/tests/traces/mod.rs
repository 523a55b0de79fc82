//! Traces of turns: what a collector receives, and that one that never answers delays nothing.

mod collector;
mod process;
mod silence;
