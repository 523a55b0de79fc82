//! The report of several runs of the same load: `repeats.json` and `repeats.md` next to the folders of the runs, a table for the terminal, and the
//! termination message. Runs without valid figures are listed, but excluded from the means.

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
