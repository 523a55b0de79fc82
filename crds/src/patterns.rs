//! Patterns of the texts that a field takes. The API server checks them, and so does [`crate::schema`].

/// A Kubernetes quantity that is not below zero. Kubernetes reads longer exponents too, but three digits are more than any amount has.
pub const QUANTITY: &str = r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,3})?$";

/// The longest quantity, in characters.
pub const MAX_QUANTITY: u32 = 32;

/// Whether the definition allows a text as a quantity.
pub fn is_quantity(text: &str) -> bool {
    let pattern = regex::Regex::new(QUANTITY).expect("the pattern is a regular expression");
    text.len() <= MAX_QUANTITY as usize && pattern.is_match(text)
}

/// A share as text.
pub const SHARE: &str = r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$";

/// The limit of an objective as text: a duration with its unit, or a number.
pub const LIMIT: &str = r"^[0-9]{1,15}(\.[0-9]{1,9})?(ns|us|ms|s|m|h)?$";

/// The longest limit of an objective, in characters.
pub const MAX_LIMIT: u32 = 32;

/// A count as text, or Auto.
pub const AUTO_OR_COUNT: &str = r"^(Auto|[1-9][0-9]{0,3})$";

/// A price as text.
pub const PRICE: &str = r"^[0-9]{1,7}(\.[0-9]{1,8})?$";
