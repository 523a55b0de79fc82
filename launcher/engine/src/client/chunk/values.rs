//! Deserializes values in an event leniently: a value of an unexpected type counts as missing.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Generates visitor methods that return `$as` for all unexpected types.
macro_rules! pass_over {
    ($as:expr) => {
        pass_over!($as, numbers);
        pass_over!($as, but_numbers);
    };
    ($as:expr, but_numbers) => {
        pass_over!($as, lists);
        pass_over!($as, the_rest);
    };
    ($as:expr, but_lists) => {
        pass_over!($as, numbers);
        pass_over!($as, the_rest);
    };
    ($as:expr, numbers) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($as)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($as)
        }
    };
    ($as:expr, lists) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok($as)
        }
    };
    ($as:expr, the_rest) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($as)
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($as)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($as)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($as)
        }
    };
}
pub(super) use pass_over;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// A normal stop, tool calls, or an unknown reason.
    Complete,
    /// The answer has reached the requested maximum length.
    Length,
    /// The server gave up: the reason is `abort` or `error`.
    Failed,
}

impl Finish {
    /// Combines the finish reasons of two choices, or of two events. A failure takes precedence; otherwise the second reason does.
    pub fn worse(first: Option<Finish>, second: Option<Finish>) -> Option<Finish> {
        if first == Some(Finish::Failed) { first } else { second.or(first) }
    }
}

/// A finish reason; `None` for null and for an empty string.
#[derive(Clone, Copy, Default)]
pub(super) struct Reason(pub(super) Option<Finish>);

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = Reason;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a reason to finish")
            }

            fn visit_str<E>(self, reason: &str) -> Result<Reason, E> {
                Ok(Reason(match reason {
                    "" => None,
                    "abort" | "error" => Some(Finish::Failed),
                    "length" => Some(Finish::Length),
                    _ => Some(Finish::Complete),
                }))
            }

            pass_over!(Reason(None));
        }
        deserializer.deserialize_any(Name)
    }
}

/// Whether a text is present, and whether it is empty.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Text {
    #[default]
    Absent,
    Empty,
    Filled,
}

/// Whether a value is present: not null, and not an empty string, list or object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Filled(pub(super) bool);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ObjectKind {
    #[default]
    Other,
    Error,
    /// An answer in one piece of the Responses API.
    Response,
}

/// Visits a value of any type without keeping it. Returns `Some(true)` if it is not empty, and `None` if it is null.
struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Option<bool>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(!text.is_empty()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Some(true))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Some(true))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Some(true))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut filled = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Some(filled))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut filled = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Some(filled))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match deserializer.deserialize_any(Look)? {
            None => Text::Absent,
            Some(false) => Text::Empty,
            Some(true) => Text::Filled,
        })
    }
}

impl<'de> Deserialize<'de> for Filled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Filled(deserializer.deserialize_any(Look)? == Some(true)))
    }
}

impl<'de> Deserialize<'de> for ObjectKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = ObjectKind;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an object's kind")
            }

            fn visit_str<E>(self, name: &str) -> Result<ObjectKind, E> {
                Ok(match name {
                    "error" => ObjectKind::Error,
                    "response" => ObjectKind::Response,
                    _ => ObjectKind::Other,
                })
            }

            pass_over!(ObjectKind::Other);
        }
        deserializer.deserialize_any(Name)
    }
}

/// Deserializes a token count or an index; `None` for null and for values that are not a count.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    struct Number;
    impl<'de> Visitor<'de> for Number {
        type Value = Option<u32>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a count")
        }

        fn visit_u64<E>(self, count: u64) -> Result<Option<u32>, E> {
            Ok(u32::try_from(count).ok())
        }

        fn visit_f64<E>(self, count: f64) -> Result<Option<u32>, E> {
            Ok(Some(count).filter(|it| (0.0..=f64::from(u32::MAX)).contains(it)).map(|it| it as u32))
        }

        fn visit_str<E>(self, _: &str) -> Result<Option<u32>, E> {
            Ok(None)
        }

        pass_over!(None, but_numbers);
    }
    deserializer.deserialize_any(Number)
}

/// Deserializes a string; `None` for any other value.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Words;
    impl<'de> Visitor<'de> for Words {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }

        pass_over!(None);
    }
    deserializer.deserialize_any(Words)
}
