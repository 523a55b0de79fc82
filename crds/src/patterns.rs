//! Regular expressions for text fields. The API server checks them, and so does [`crate::schema`].

/// A Kubernetes quantity of at least zero. Kubernetes also accepts longer exponents, but no realistic amount needs more than three digits.
pub const QUANTITY: &str = r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,3})?$";

/// Maximum length of a quantity, in characters.
pub const MAX_QUANTITY: u32 = 32;

/// Whether the CRD's schema accepts `text` as a quantity.
pub fn is_quantity(text: &str) -> bool {
    let pattern = regex::Regex::new(QUANTITY).expect("the pattern is a regular expression");
    text.len() <= MAX_QUANTITY as usize && pattern.is_match(text)
}

/// A share from 0 to 1.
pub const SHARE: &str = r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$";

/// The limit of an objective: a duration with its unit, or a number.
pub const LIMIT: &str = r"^[0-9]{1,15}(\.[0-9]{1,9})?(ns|us|ms|s|m|h)?$";

/// Maximum length of an objective's limit, in characters.
pub const MAX_LIMIT: u32 = 32;

/// A count from 1 to 9999, or `Auto`.
pub const AUTO_OR_COUNT: &str = r"^(Auto|[1-9][0-9]{0,3})$";

/// A price.
pub const PRICE: &str = r"^[0-9]{1,7}(\.[0-9]{1,8})?$";
