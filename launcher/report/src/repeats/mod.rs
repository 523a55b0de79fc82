//! Several runs of the same load, for people and programs: `repeats.json` and `repeats.md` beside the folders of the runs, a table, and the
//! termination message. A run without valid figures is listed, but is in no mean.

mod document;
mod envelope;
mod folder;
mod markdown;
mod rows;
mod series;
mod terminal;

pub use document::{RepeatDocument, RepeatedFigureDocument, RepeatedStageDocument, RepeatsDocument};
pub use envelope::envelope;
pub use folder::SeriesFolder;
pub use markdown::render as markdown;
pub use series::{Ending, FORMAT, Repeat, Series, SeriesVerdict, StartTimes};
pub use terminal::table;
