//! Traces of turns: what a collector receives, and that an unresponsive collector delays nothing.

mod collector;
mod process;
mod silence;
