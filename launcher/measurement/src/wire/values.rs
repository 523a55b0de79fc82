//! Values that are parts of a form, rather than complete measurements.

use std::{
    collections::{BTreeMap, VecDeque},
    num::{NonZeroU16, NonZeroU32},
    time::Duration,
};

use crds::units::{RequestRate, Span};
use jiff::Timestamp;
use workload_profiles::{
    Notice,
    workload::{Goodput, Window},
};

use super::{Reader, WireError, Writer};

/// A value that can be a part of a form.
pub(crate) trait Wire: Sized {
    /// Appends at least one byte.
    fn write(&self, to: &mut Writer);

    /// Reads a value.
    ///
    /// # Errors
    /// The bytes are not such a value, or it needs more memory than the reader allows.
    fn read(from: &mut Reader<'_>) -> Result<Self, WireError>;
}

/// Implements the form of a struct: its fields in this order. The compiler reports missing fields.
macro_rules! fields {
    ($type:ty { $($field:ident),+ $(,)? }) => {
        $crate::wire::fields!($type { $($field),+ } if |_| true, "value");
    };
    // Like the rule above, but values without the property are rejected.
    ($type:ty { $($field:ident),+ $(,)? } if $property:expr, $what:literal) => {
        impl $crate::wire::Wire for $type {
            fn write(&self, to: &mut $crate::wire::Writer) {
                let Self { $($field),+ } = self;
                $($crate::wire::Wire::write($field, to);)+
            }

            fn read(from: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::WireError> {
                let value = Self { $($field: $crate::wire::Wire::read(from)?),+ };
                let has_property: fn(&Self) -> bool = $property;
                if has_property(&value) { Ok(value) } else { Err($crate::wire::WireError::Value { what: $what }) }
            }
        }
    };
}

/// Implements the form of an enum without data: one byte.
macro_rules! variants {
    ($type:ident { $($variant:ident = $code:literal),+ $(,)? }) => {
        impl $crate::wire::Wire for $type {
            fn write(&self, to: &mut $crate::wire::Writer) {
                let code: u8 = match self { $($type::$variant => $code),+ };
                $crate::wire::Wire::write(&code, to);
            }

            fn read(from: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::WireError> {
                match <u8 as $crate::wire::Wire>::read(from)? {
                    $($code => Ok($type::$variant),)+
                    _ => Err($crate::wire::WireError::Value { what: stringify!($type) }),
                }
            }
        }
    };
}

pub(crate) use {fields, variants};

impl Wire for u8 {
    fn write(&self, to: &mut Writer) {
        to.byte(*self);
    }

    fn read(from: &mut Reader<'_>) -> Result<u8, WireError> {
        from.byte()
    }
}

macro_rules! integers {
    ($($type:ident),+) => {
        $(impl Wire for $type {
            fn write(&self, to: &mut Writer) {
                to.integer(*self as u128);
            }

            fn read(from: &mut Reader<'_>) -> Result<$type, WireError> {
                $type::try_from(from.integer()?).map_err(|_| WireError::Value { what: stringify!($type) })
            }
        })+
    };
}

integers!(u16, u32, u64, u128, usize);

impl Wire for i128 {
    fn write(&self, to: &mut Writer) {
        to.integer(((self << 1) ^ (self >> 127)) as u128);
    }

    fn read(from: &mut Reader<'_>) -> Result<i128, WireError> {
        let bits = from.integer()?;
        Ok((bits >> 1) as i128 ^ -((bits & 1) as i128))
    }
}

impl Wire for i64 {
    fn write(&self, to: &mut Writer) {
        i128::from(*self).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<i64, WireError> {
        i64::try_from(i128::read(from)?).map_err(|_| WireError::Value { what: "i64" })
    }
}

impl Wire for bool {
    fn write(&self, to: &mut Writer) {
        to.byte(u8::from(*self));
    }

    fn read(from: &mut Reader<'_>) -> Result<bool, WireError> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Value { what: "bool" }),
        }
    }
}

impl Wire for f64 {
    fn write(&self, to: &mut Writer) {
        to.all(&self.to_bits().to_le_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<f64, WireError> {
        let bytes = from.all(8)?.try_into().map_err(|_| WireError::Value { what: "f64" })?;
        Ok(f64::from_bits(u64::from_le_bytes(bytes)))
    }
}

impl Wire for String {
    fn write(&self, to: &mut Writer) {
        self.len().write(to);
        to.all(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<String, WireError> {
        let length = from.count()?;
        from.allocate(length)?;
        let text = str::from_utf8(from.all(length)?).map_err(|_| WireError::Value { what: "text" })?;
        Ok(text.to_owned())
    }
}

impl Wire for Duration {
    fn write(&self, to: &mut Writer) {
        self.as_secs().write(to);
        self.subsec_nanos().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Duration, WireError> {
        let (seconds, nanos) = (u64::read(from)?, u32::read(from)?);
        if nanos < 1_000_000_000 { Ok(Duration::new(seconds, nanos)) } else { Err(WireError::Value { what: "time" }) }
    }
}

impl Wire for NonZeroU16 {
    fn write(&self, to: &mut Writer) {
        self.get().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<NonZeroU16, WireError> {
        NonZeroU16::new(u16::read(from)?).ok_or(WireError::Value { what: "number above 0" })
    }
}

impl Wire for NonZeroU32 {
    fn write(&self, to: &mut Writer) {
        self.get().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<NonZeroU32, WireError> {
        NonZeroU32::new(u32::read(from)?).ok_or(WireError::Value { what: "number above 0" })
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write(&self, to: &mut Writer) {
        self.is_some().write(to);
        self.iter().for_each(|it| it.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<Option<T>, WireError> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn write(&self, to: &mut Writer) {
        self.len().write(to);
        self.iter().for_each(|it| it.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<Vec<T>, WireError> {
        let count = from.count()?;
        from.allocate(count.saturating_mul(size_of::<T>()))?;
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(T::read(from)?);
        }
        Ok(all)
    }
}

impl<T: Wire> Wire for VecDeque<T> {
    fn write(&self, to: &mut Writer) {
        self.len().write(to);
        self.iter().for_each(|it| it.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<VecDeque<T>, WireError> {
        Vec::read(from).map(VecDeque::from)
    }
}

impl<T: Wire + Copy + Default, const N: usize> Wire for [T; N] {
    fn write(&self, to: &mut Writer) {
        self.iter().for_each(|it| it.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<[T; N], WireError> {
        let mut all = [T::default(); N];
        for it in &mut all {
            *it = T::read(from)?;
        }
        Ok(all)
    }
}

/// Memory of a map entry in addition to its key and its value, in bytes. It is approximate, because a map has spare room.
const PER_ENTRY: usize = 32;

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn write(&self, to: &mut Writer) {
        self.len().write(to);
        for (key, value) in self {
            key.write(to);
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<BTreeMap<K, V>, WireError> {
        let count = from.count()?;
        from.allocate(count.saturating_mul(size_of::<(K, V)>() + PER_ENTRY))?;
        let mut all = BTreeMap::new();
        for _ in 0..count {
            let key = K::read(from)?;
            if all.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(WireError::Value { what: "order of keys" });
            }
            all.insert(key, V::read(from)?);
        }
        Ok(all)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<(A, B), WireError> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

impl Wire for Span {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Span, WireError> {
        Duration::read(from).map(Span)
    }
}

impl<T: Wire, E: Wire> Wire for Result<T, E> {
    fn write(&self, to: &mut Writer) {
        self.is_ok().write(to);
        match self {
            Ok(value) => value.write(to),
            Err(error) => error.write(to),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Result<T, E>, WireError> {
        Ok(if bool::read(from)? { Ok(T::read(from)?) } else { Err(E::read(from)?) })
    }
}

impl Wire for RequestRate {
    fn write(&self, to: &mut Writer) {
        self.per_second().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<RequestRate, WireError> {
        RequestRate::try_from(f64::read(from)?).map_err(|_| WireError::Value { what: "rate" })
    }
}

impl Wire for Timestamp {
    fn write(&self, to: &mut Writer) {
        self.as_nanosecond().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Timestamp, WireError> {
        Timestamp::from_nanosecond(i128::read(from)?).map_err(|_| WireError::Value { what: "time of day" })
    }
}

fields!(Notice { path, message });
fields!(Goodput { ttft, tpot, itl, ntpot, latency });
variants!(Window { All = 0, Trimmed = 1, Cut = 2 });
