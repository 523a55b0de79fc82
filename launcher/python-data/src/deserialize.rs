//! Deserializes cells with serde. So a row reader receives token ids one by one, without a JSON tree in memory.

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor, value::Error},
    forward_to_deserialize_any,
};

use crate::{
    Cell,
    cell::{List, Map},
};

impl<'de> IntoDeserializer<'de, Error> for Cell<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Cell<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Cell::Null => visitor.visit_unit(),
            Cell::Bool(it) => visitor.visit_bool(it),
            Cell::Int(it) | Cell::Time(it) => match u64::try_from(it) {
                Ok(it) => visitor.visit_u64(it),
                Err(_) => visitor.visit_i64(it),
            },
            Cell::UInt(it) => visitor.visit_u64(it),
            Cell::Big(digits) => visitor.visit_string(digits),
            // JSON cannot express NaN or infinity, so these become null.
            Cell::Float(it) if it.is_finite() => visitor.visit_f64(it),
            Cell::Float(_) => visitor.visit_unit(),
            Cell::Text(text) => visitor.visit_str(&text),
            Cell::Bytes(bytes) => match std::str::from_utf8(&bytes) {
                Ok(text) => visitor.visit_str(text),
                Err(_) => visitor.visit_unit(),
            },
            Cell::List(list) => visitor.visit_seq(Elements { list, next: 0 }),
            Cell::Map(map) => visitor.visit_map(Pairs { map, next: 0, value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq tuple tuple_struct map
        struct enum identifier ignored_any
    }
}

struct Elements<'t> {
    list: List<'t>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.next >= self.list.len() {
            return Ok(None);
        }
        let cell = self.list.get(self.next).map_err(Error::custom)?;
        self.next += 1;
        seed.deserialize(cell).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.list.len() - self.next)
    }
}

struct Pairs<'t> {
    map: Map<'t>,
    next: usize,
    value: Option<Cell<'t>>,
}

impl<'de> MapAccess<'de> for Pairs<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.map.get(self.next).map_err(Error::custom)? else { return Ok(None) };
        self.next += 1;
        self.value = Some(value);
        seed.deserialize(key.to_name().into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self.value.take().unwrap_or(Cell::Null);
        seed.deserialize(value)
    }
}
