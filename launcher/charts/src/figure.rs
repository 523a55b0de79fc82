//! The definition of a figure by its author: axes, series, shaded ranges and marks, in the units of the data.
//!
//! Nothing here depends on pixels, colours or text sizes. Values that are not finite are gaps. Texts can contain any characters, because the drawing
//! code escapes them.

/// A figure with one pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The id for elements and files: lower-case letters, digits and hyphens.
    pub id: String,
    pub title: String,
    /// What the figure shows, from which data, and over which window, in one or two sentences.
    pub caption: String,
    /// The main result in a few words, such as `100 to 1,649 tokens/s`; empty if there is none.
    pub finding: String,
    pub x: Axis,
    pub y: Axis,
    /// The series, in the order in which they are drawn and listed.
    pub series: Vec<Series>,
    pub shades: Vec<Shade>,
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity on the axis, such as `TTFT`.
    pub label: String,
    /// The unit, such as `ms`; empty for a number without a unit. Values in `ms` and `s` are durations, which a drawing shows in a suitable unit.
    /// Values in `share` are from 0 to 1 and are shown as percentages.
    pub unit: String,
    pub scale: Scale,
    /// Values that the axis always includes, whatever the data: 0 for a quantity, 0 and 1 for a share.
    pub includes: Vec<f64>,
    /// The values that get a label, such as the loads of the stages. If empty, round values get labels.
    pub labels: Vec<f64>,
}

/// How values are converted to positions on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// Logarithmic. Values of zero and below are gaps.
    Log,
}

/// Values with a name. Series with the same name, such as a line and its band, share one legend entry and are hidden together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    pub tone: Tone,
    pub shape: Shape,
}

/// The meaning of a colour, which is the same in every figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// The first, second and so on of items without an order, such as stages or runs.
    Category(usize),
    /// Provisional values of an item, such as trials that do not count for the answer. It has the colour of this category. Its points are hollow.
    Provisional(usize),
    /// The main series of a figure, if no other tone applies.
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
    /// A verdict that is undecided.
    Doubt,
    /// Values that do not describe the server, such as waiting in the client, or cancelled requests.
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
    /// Separate points. If `joined`, a line connects them in the order of the list.
    Points { points: Vec<Point>, joined: bool },
    /// Bars from zero. Bars of several series at the same place are stacked. Values below zero are gaps.
    Bars(Vec<Bar>),
    /// Cells with a colour that depends on their count.
    Heat(Heat),
    /// One line per request, in the order of the list from top to bottom. The y axis of such a figure has no values.
    Requests(Vec<Request>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub x: f64,
    /// The value; `None` is a gap.
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
    /// The name of the point, such as the name of a stage.
    pub label: String,
    /// The text that a page shows when the point has the focus, such as `8 users: 69.8 ms, met`. A point without a note cannot get the focus.
    pub note: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// The start of the bar on the x axis.
    pub from: f64,
    pub to: f64,
    pub value: f64,
}

/// Counts in cells: columns along x, rows along y.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// The edges of the columns, in order. There is one edge more than columns.
    pub x_edges: Vec<f64>,
    /// The edges of the rows, in increasing order. There is one edge more than rows.
    pub y_edges: Vec<f64>,
    /// The counts, as `counts[column][row]`.
    pub counts: Vec<Vec<u64>>,
}

/// A request on a time line. Times are in the unit of the x axis, and in ascending order from field to field.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The time at which the request was due.
    pub due: f64,
    /// When it was sent; `None` if it was never sent.
    pub sent: Option<f64>,
    /// When its first token arrived; `None` if no token arrived.
    pub first_token: Option<f64>,
    pub ended: f64,
    /// Whether it succeeded.
    pub succeeded: bool,
    /// The label that a reader sees: stage, number and outcome.
    pub label: String,
}

/// A range on the x axis with a meaning, such as a warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Shade {
    pub from: f64,
    pub to: f64,
    pub label: String,
    pub tone: Tone,
}

/// A named line across the figure, or a named point: an objective, a knee, the start of a stage.
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
    /// A sign below the x axis, such as `✓`.
    Below(f64),
}
