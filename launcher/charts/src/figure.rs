//! A figure as its author defines it: axes, series, shaded ranges and marks, in the units of the data.
//!
//! Nothing here depends on pixels, colours or text sizes. Values that are not finite are gaps. Texts may contain any characters: the code that
//! draws a figure escapes them.

/// A figure with one pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// A name for elements and files: lower-case letters, digits and hyphens.
    pub id: String,
    pub title: String,
    /// What the figure shows, from which data, over which window: a sentence or two.
    pub caption: String,
    /// The main result in a few words, such as `100 to 1,649 tokens/s`; empty without one.
    pub finding: String,
    pub x: Axis,
    pub y: Axis,
    /// In the order in which they are drawn and listed.
    pub series: Vec<Series>,
    pub shades: Vec<Shade>,
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is measured, such as `TTFT`.
    pub label: String,
    /// The unit, such as `ms`; empty for a number without one. Values in `ms` and `s` are durations. A drawing writes them in the unit that fits
    /// their size. Values in `share` are from 0 to 1, and are written in percent.
    pub unit: String,
    pub scale: Scale,
    /// Values that the axis always includes, whatever the data: 0 for a quantity, 0 and 1 for a share.
    pub includes: Vec<f64>,
    /// The values with a label, such as the loads of the stages. Empty: round values.
    pub labels: Vec<f64>,
}

/// How values become places on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// Values of zero and below are gaps.
    Log,
}

/// Values with a name. Series with the same name have one legend entry, and a reader hides them together: a line and its band.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    pub tone: Tone,
    pub shape: Shape,
}

/// The meaning of a colour. The same meaning has the same colour in every figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// The first, second and so on of a list without order, such as stages or runs.
    Category(usize),
    /// The figure itself.
    Main,
    /// The median.
    Median,
    /// A 90th percentile.
    High,
    /// A 99th percentile.
    Highest,
    /// A planned or requested value.
    Plan,
    /// Success.
    Good,
    /// A failure.
    Bad,
    /// Neither: a verdict that is open.
    Doubt,
    /// Values that say nothing about the server: waiting of the client, cancelled requests.
    Quiet,
}

/// The values of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A line from point to point.
    Line(Vec<Place>),
    /// A line that keeps its value until the next point.
    Steps(Vec<Place>),
    /// The area between two values.
    Band(Vec<Interval>),
    /// Points on their own, with a line through them in their order if `joined`.
    Points { points: Vec<Point>, joined: bool },
    /// Bars from zero, or stacked on the bars of the previous series at the same place. Values below zero are gaps.
    Bars(Vec<Bar>),
    /// Colours by the number of values in each cell.
    Heat(Heat),
    /// One line per request, in the order of the list, from top to bottom. The y axis of such a figure has no values.
    Requests(Vec<Request>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub x: f64,
    /// `None`: a gap.
    pub y: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub x: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// The range of `y`, such as a confidence interval.
    pub range: Option<(f64, f64)>,
    /// The name of the point, such as a stage.
    pub label: String,
    /// What a page says when the point takes the focus, such as `8 users: 69.8 ms, met`. Empty: it takes none.
    pub note: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Where it begins and ends on the x axis.
    pub from: f64,
    pub to: f64,
    pub value: f64,
}

/// Counts in cells: columns along x, rows along y.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// The begin of each column, and the end of the last one: one more than there are columns.
    pub x_edges: Vec<f64>,
    /// Like `x_edges`, for rows, increasing.
    pub y_edges: Vec<f64>,
    /// One list per column, with one count per row.
    pub counts: Vec<Vec<u64>>,
}

/// A request on a time line. Each time is in the unit of the x axis, and not before the time above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// When it was due.
    pub due: f64,
    /// When it was sent; `None`: never.
    pub sent: Option<f64>,
    /// When its first token came.
    pub first_token: Option<f64>,
    pub ended: f64,
    /// Whether it succeeded.
    pub succeeded: bool,
    /// The label that a reader sees: stage, number, outcome.
    pub label: String,
}

/// A range of x with a meaning, such as a warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Shade {
    pub from: f64,
    pub to: f64,
    pub label: String,
    pub tone: Tone,
}

/// A line across the figure, or a point, with a name: an objective, a knee, the begin of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub at: MarkAt,
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MarkAt {
    X(f64),
    Y(f64),
    Point(f64, f64),
    /// A limit on the y axis.
    Limit(f64),
    /// Below the axis: a sign, such as `✓`.
    Below(f64),
}
