//! Figures of a report: what is drawn, in the units of its data. Pure.

mod figure;

pub use figure::{
    Axis, Bar, Figure, Heat, Interval, Mark, MarkAt, Place, Point, Request, Scale, Series, Shade, Shape, Tone,
};
