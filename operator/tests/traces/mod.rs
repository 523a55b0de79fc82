//! Tests of the traces of turns: what a collector receives, and that a collector which does not respond causes no delay.

mod collector;
mod process;
mod silence;
