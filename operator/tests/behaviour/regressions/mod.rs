//! Tests for problems that users of other tools have reported. `threads.md` lists each issue thread with the test that covers it. The tests here are
//! for threads that no other test covers.

mod ends;
mod index;
mod starts;
