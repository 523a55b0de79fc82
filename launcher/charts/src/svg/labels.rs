//! Keeps labels in the frame from overlapping.

/// The areas that are already occupied, as rectangles (left, top, right, bottom).
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    taken: Vec<[f64; 4]>,
}

impl Taken {
    pub fn take(&mut self, rectangle: [f64; 4]) {
        self.taken.push(rectangle);
    }

    /// Occupies the first rectangle that is within `bounds` and does not overlap an occupied area. Returns its index.
    pub fn first_free(&mut self, bounds: [f64; 4], candidates: &[[f64; 4]]) -> Option<usize> {
        let inside =
            |it: &[f64; 4]| it[0] >= bounds[0] && it[1] >= bounds[1] && it[2] <= bounds[2] && it[3] <= bounds[3];
        let free = |it: &[f64; 4]| !self.taken.iter().any(|other| overlap(it, other));
        let found = candidates.iter().position(|it| inside(it) && free(it))?;
        self.taken.push(candidates[found]);
        Some(found)
    }
}

fn overlap(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}
