//! Figures of reports: their definition in the units of the data, and drawings as SVG, as a part of a page, and as CSV. Pure.

pub mod assets;
pub mod csv;
mod describe;
mod extent;
mod figure;
pub mod html;
mod json;
pub mod palette;
#[cfg(feature = "png")]
pub mod png;
mod scale;
mod stack;
pub mod svg;
mod table;
mod thin;
mod ticks;
mod units;

pub use figure::{
    Axis, Bar, Figure, Heat, Interval, Mark, MarkAt, Place, Point, Request, Scale, Series, Shade, Shape, Tone,
};
pub use svg::{Size, Style};
