//! Parses `prompt_tokens_details` of a usage: the number of prompt tokens that the server found in its prefix cache.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use super::values;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    #[serde(deserialize_with = "values::count")]
    cached_tokens: Option<u32>,
}

/// Returns the number of cached tokens; `None` for null and for a value that is not an object.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    struct Object;
    impl<'de> Visitor<'de> for Object {
        type Value = Option<u32>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the details of a prompt")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Ok(Details::deserialize(MapAccessDeserializer::new(map))?.cached_tokens)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(None)
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(Object)
}

#[cfg(test)]
mod tests {
    use super::super::Chunk;

    fn check(details: &str, cached: Option<u32>) {
        let json = format!(r#"{{"choices":[],"usage":{{"prompt_tokens_details":{details},"prompt_tokens":9}}}}"#);
        let usage = Chunk::parse(json.as_bytes()).unwrap().usage.unwrap();
        assert_eq!((usage.cached_tokens, usage.prompt_tokens), (cached, Some(9)), "{details}");
    }

    #[test]
    fn the_cached_tokens_of_a_prompt_are_read_where_they_are_told() {
        check(r#"{"cached_tokens":7}"#, Some(7));
        check(r#"{"audio_tokens":0,"cached_tokens":0,"created_cache_tokens":null}"#, Some(0));
        for none in ["null", "{}", r#"{"cached_tokens":null}"#, r#"{"cached_tokens":-1}"#, r#"{"cached_tokens":"7"}"#] {
            check(none, None);
        }
        for no_object in ["7", "-7", "1.5", "true", "\"7\"", "[7]"] {
            check(no_object, None);
        }
    }
}
