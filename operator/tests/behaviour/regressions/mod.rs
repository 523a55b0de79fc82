//! What went wrong for users of other tools. `threads.md` lists each thread with the test that covers it; the tests here
//! cover those that no test of a subject does.

mod ends;
mod index;
mod starts;
