//! Converts any value to JSON text without building a tree in memory. Pure.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// Appends a value as JSON text.
pub(super) struct JsonText<'a>(pub(super) &'a mut String);

impl<'de> DeserializeSeed<'de> for JsonText<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl JsonText<'_> {
    fn push<E: Error>(self, value: impl Into<Value>) -> Result<(), E> {
        self.0.push_str(&value.into().to_string());
        Ok(())
    }
}

impl<'de> Visitor<'de> for JsonText<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.push(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.push(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.push(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.push(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.push(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.push(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let text = self.0;
        text.push('[');
        let start = text.len();
        loop {
            let end = text.len();
            if end > start {
                text.push(',');
            }
            if list.next_element_seed(JsonText(text))?.is_none() {
                text.truncate(end);
                text.push(']');
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let text = self.0;
        text.push('{');
        let start = text.len();
        while let Some(key) = map.next_key::<String>()? {
            if text.len() > start {
                text.push(',');
            }
            text.push_str(&Value::from(key).to_string());
            text.push(':');
            map.next_value_seed(JsonText(text))?;
        }
        text.push('}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_it_was_read() {
        for json in [r#"[]"#, r#"{}"#, r#"[1,-2,0.5,null,true,"é\n",[[]],{"a":{"b":[1]},"c":"d"}]"#] {
            let mut text = String::new();
            JsonText(&mut text).deserialize(&mut serde_json::Deserializer::from_str(json)).unwrap();
            assert_eq!(text, json);
        }
    }
}
