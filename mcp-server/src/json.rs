//! Structured results as JSON that keeps its schema's promise.
//!
//! `serde_json` writes `null` for NaN and the infinities, where the derived schema says `number`: such a result would break
//! the tool's own output schema (TOOL-11). A result without `null` cannot hold one, so only those with it are looked at twice.

use std::cell::Cell;
use std::fmt;
use std::io;

use serde::ser::{self, Serialize};
use serde_json::ser::Formatter;

/// The JSON text of a value.
///
/// # Errors
///
/// If the value cannot be written, or holds a number that JSON has no word for.
pub(crate) fn write<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let null = Cell::new(false);
    let mut json = Vec::with_capacity(128);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut json, Watching(&null)))?;
    if null.get() {
        value.serialize(Finite).map_err(ser::Error::custom)?;
    }
    Ok(json)
}

/// Writes as `serde_json` does, and notes whether there was a `null`.
struct Watching<'a>(&'a Cell<bool>);

impl Formatter for Watching<'_> {
    fn write_null<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.set(true);
        writer.write_all(b"null")
    }
}

/// Walks a value and writes nothing; fails at a number that is not finite.
struct Finite;

/// What [`Finite`] found.
#[derive(Debug)]
struct Unwritable(String);

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unwritable {}

impl ser::Error for Unwritable {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Walked = Result<(), Unwritable>;

macro_rules! pass {
    ($($method:ident($($kind:ty),*);)*) => {$(
        fn $method(self, $(_: $kind),*) -> Walked {
            Ok(())
        }
    )*};
}

macro_rules! begin {
    ($($method:ident($($kind:ty),*);)*) => {$(
        fn $method(self, $(_: $kind),*) -> Result<Self, Unwritable> {
            Ok(self)
        }
    )*};
}

impl ser::Serializer for Finite {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    pass! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    begin! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_tuple_variant(&'static str, u32, &'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
        serialize_struct_variant(&'static str, u32, &'static str, usize);
    }

    fn serialize_f32(self, number: f32) -> Walked {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Walked {
        if number.is_finite() { Ok(()) } else { Err(Unwritable(format!("JSON has no number {number}"))) }
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Walked {
        value.serialize(self)
    }
}

macro_rules! compound {
    ($($of:ident: $element:ident($($key:ty)?);)*) => {$(
        impl ser::$of for Finite {
            type Ok = ();
            type Error = Unwritable;

            fn $element<T: ?Sized + Serialize>(&mut self, $(_: $key,)? value: &T) -> Walked {
                value.serialize(Finite)
            }

            fn end(self) -> Walked {
                Ok(())
            }
        }
    )*};
}

compound! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStruct: serialize_field(&'static str);
    SerializeStructVariant: serialize_field(&'static str);
}

impl ser::SerializeMap for Finite {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, _: &T) -> Walked {
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Walked {
        value.serialize(Self)
    }

    fn end(self) -> Walked {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::write;

    #[derive(Serialize)]
    enum Deep {
        Struct { list: Vec<Option<f64>>, map: BTreeMap<String, (u8, f32)> },
        Newtype(Box<Deep>),
    }

    fn deep(number: f64, single: f32) -> Deep {
        let map = [("a".to_owned(), (1, single))].into();
        Deep::Newtype(Box::new(Deep::Struct { list: vec![None, Some(number)], map }))
    }

    #[test]
    fn numbers_that_json_has_no_word_for_are_refused_wherever_they_are_tool_11() {
        let json = write(&deep(1.5, 2.5)).unwrap();
        assert_eq!(json, br#"{"Newtype":{"Struct":{"list":[null,1.5],"map":{"a":[1,2.5]}}}}"#);
        for (number, single) in [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (f64::NEG_INFINITY, 0.0), (0.0, f32::NAN)] {
            assert!(write(&deep(number, single)).is_err(), "{number} {single}");
        }
        assert!(write(&f64::NAN).is_err());
        assert_eq!(write(&()).unwrap(), b"null");
    }
}
