//! Numpy arrays whose elements stay in the bytes of the file.

use std::{borrow::Cow, rc::Rc};

use crate::{
    Cell, Problem,
    cell::{List, Part},
    dtype::{Dtype, Kind},
    pickle::{Pickle, Seq},
};

/// Maximum number of dimensions.
const MAX_DIMENSIONS: usize = 32;
/// Maximum length of a dimension in an array without elements.
const MAX_EMPTY: usize = 1_000_000;

/// A numpy array. Its elements are in the bytes of the file, or are objects of a pickle.
#[derive(Clone, Debug)]
pub struct Array<'t> {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    /// Whether the elements are stored in Fortran order, with neighbours along the first dimension next to each other.
    fortran: bool,
    data: Data<'t>,
}

#[derive(Clone, Debug)]
pub(crate) enum Data<'t> {
    Bytes(Cow<'t, [u8]>),
    Items(Seq<'t>, &'t Pickle<'t>),
}

impl<'t> Array<'t> {
    pub(crate) fn new(dtype: Dtype, shape: Vec<usize>, fortran: bool, data: Data<'t>) -> Result<Array<'t>, Problem> {
        let shown = || format!("{shape:?}");
        if shape.len() > MAX_DIMENSIONS {
            return Err(Problem::new(format!("an array has {} dimensions", shape.len())));
        }
        let count = shape.iter().try_fold(1_usize, |product, it| product.checked_mul(*it));
        let count = match count {
            Some(0) if shape.iter().any(|it| *it > MAX_EMPTY) => None,
            it => it,
        };
        let count =
            count.ok_or_else(|| Problem::new(format!("an array states the shape {}, which is too large", shown())))?;
        match (&data, dtype.kind) {
            (Data::Items(items, _), Kind::Object) => {
                if items.len() != count {
                    let found = items.len();
                    return Err(Problem::new(format!("an array of shape {} has {found} objects", shown())));
                }
            }
            (Data::Bytes(bytes), kind) if kind != Kind::Object => {
                let wanted = count.checked_mul(dtype.size).filter(|_| dtype.size > 0 || count == 0);
                if wanted != Some(bytes.len()) {
                    let (found, name) = (bytes.len(), dtype.name());
                    return Err(Problem::new(format!("an array of shape {} of {name} has {found} bytes", shown())));
                }
            }
            _ => return Err(Problem::new(format!("an array of {} has no elements of its type", dtype.name()))),
        }
        Ok(Array { dtype, shape, fortran, data })
    }

    /// The length of each dimension; empty for a single value.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of the elements as numpy prints it, such as `int32`.
    pub fn type_name(&self) -> String {
        self.dtype.name()
    }

    /// Distance between neighbours along dimension `axis`, in elements.
    pub(crate) fn stride(&self, axis: usize) -> usize {
        let others = if self.fortran { self.shape.get(..axis) } else { self.shape.get(axis + 1..) };
        others.unwrap_or_default().iter().product()
    }

    /// The whole array as a list, or as a single value if it has no dimensions.
    ///
    /// # Errors
    /// The single value cannot be read.
    pub fn cell(&self) -> Result<Cell<'t>, Problem> {
        match Part::whole(Rc::new(self.clone())) {
            Some(part) => Ok(Cell::List(List::Array(part))),
            None => self.element(0),
        }
    }

    /// The element at an index into the stored elements.
    pub(crate) fn element(&self, place: usize) -> Result<Cell<'t>, Problem> {
        match &self.data {
            Data::Items(items, pickle) => items.get(place).map_or(Ok(Cell::Null), |it| pickle.cell(it)),
            Data::Bytes(bytes) => {
                let start = place * self.dtype.size;
                let bytes = bytes.get(start..start + self.dtype.size);
                self.dtype.element(bytes.ok_or_else(|| Problem::new("an array ends early"))?)
            }
        }
    }

    /// Whether every element is a number or a truth value. This follows from the type alone.
    pub(crate) fn is_numbers(&self) -> bool {
        self.dtype.is_number()
    }
}
