//! Problems that users of other tools had. `threads.md` lists each thread with the test that covers it. The tests here cover the threads
//! that no other test covers.

mod ends;
mod index;
mod starts;
