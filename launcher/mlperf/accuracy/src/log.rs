//! Converts the data in an accuracy log to token ids. Pure.

/// The type of the numbers in the `data` of a log. All are little-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Element {
    /// 32-bit integers, which MLPerf's run scripts and Benchwright write.
    #[default]
    Int32,
    /// 64-bit integers.
    Int64,
    /// 32-bit floating-point numbers, whose fraction is dropped.
    Float32,
}

impl Element {
    /// Finds a type by the name in the reference's option, where `float32` is called `float`.
    pub fn from_name(name: &str) -> Option<Element> {
        match name {
            "int32" => Some(Element::Int32),
            "int64" => Some(Element::Int64),
            "float" | "float32" => Some(Element::Float32),
            _ => None,
        }
    }

    const fn size(self) -> usize {
        match self {
            Element::Int32 | Element::Float32 => 4,
            Element::Int64 => 8,
        }
    }
}

/// The reason why the data of an answer cannot be converted to token ids.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TokenError {
    /// The length is not a multiple of the element size.
    #[error("has {bytes} bytes, which is no multiple of {size}; give the type of its numbers: int32, int64 or float")]
    Length {
        /// Length of the data, in bytes.
        bytes: usize,
        /// Size of a number, in bytes.
        size: usize,
    },
    /// A number cannot be a token id.
    #[error(
        "has the number {number} at position {position}, from 0, which is no token id; give the type of its numbers: int32, int64 or float"
    )]
    Number {
        /// The number as read.
        number: f64,
        /// Its position, from 0.
        position: usize,
    },
}

/// Returns the token ids of an answer. Empty if there is no data. A number above `u32::MAX` becomes `u32::MAX`, which is in no vocabulary.
///
/// # Errors
/// The length is not a multiple of the type's size, or a number is negative or NaN.
pub fn token_ids(data: &[u8], element: Element) -> Result<Vec<u32>, TokenError> {
    let size = element.size();
    if !data.len().is_multiple_of(size) {
        return Err(TokenError::Length { bytes: data.len(), size });
    }
    let number = |bytes: &[u8]| match (element, bytes) {
        (Element::Int32, &[a, b, c, d]) => f64::from(i32::from_le_bytes([a, b, c, d])),
        (Element::Float32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])).round_ties_even(),
        (Element::Int64, &[a, b, c, d, e, f, g, h]) => i64::from_le_bytes([a, b, c, d, e, f, g, h]) as f64,
        _ => f64::NAN,
    };
    let id = |(position, bytes): (usize, &[u8])| match number(bytes) {
        // The cast limits the number to the range of `u32`.
        number if number >= 0.0 => Ok(number as u32),
        number => Err(TokenError::Number { number, position }),
    };
    data.chunks_exact(size).enumerate().map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_little_endian_numbers_of_their_type() {
        let check = |data: &[u8], element, expected: &[u32]| assert_eq!(token_ids(data, element).unwrap(), expected);
        check(&[9, 0xf4, 1, 0], Element::Int32, &[128_009]);
        check(&[2, 0, 0, 0, 0, 0, 0, 0], Element::Int64, &[2]);
        check(&2.0_f32.to_le_bytes(), Element::Float32, &[2]);
        check(&[], Element::Int64, &[]);
        check(&[0, 0, 0, 0, 1, 0, 0, 0], Element::Int64, &[u32::MAX]);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        let check = |data: &[u8], element, expected: &str| {
            let error = token_ids(data, element).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(&[1, 2, 3], Element::Int32, "has 3 bytes, which is no multiple of 4");
        check(&[1, 0, 0, 0], Element::Int64, "no multiple of 8");
        check(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], Element::Int32, "the number -1 at position 1");
        check(&f32::NAN.to_le_bytes(), Element::Float32, "the number NaN");
    }
}
