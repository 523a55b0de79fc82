//! What the LoadGen tests of a run came to: from the records of the engine to logs and a verdict for each test.

pub mod answers;
pub mod judged;
pub mod measure;
pub mod outcome;
pub mod verdict;
