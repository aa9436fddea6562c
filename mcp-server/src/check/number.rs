//! Numbers compared as what they say, and not as the type that they were read into.

use std::cmp::Ordering;

use serde_json::Number;

/// A number of JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Num {
    Integer(i128),
    /// Finite.
    Float(f64),
}

impl Num {
    pub(crate) fn of(number: &Number) -> Self {
        number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from))
            .map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::MAX)), Self::Integer)
    }

    pub(super) fn is_integral(self) -> bool {
        match self {
            Self::Integer(_) => true,
            Self::Float(float) => float.fract() == 0.0,
        }
    }

    /// Exact, also between an integer and a float that is next to it.
    pub(crate) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left.cmp(&right),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
            (Self::Integer(left), Self::Float(right)) => order(left, right),
            (Self::Float(left), Self::Integer(right)) => order(right, left).reverse(),
        }
    }

    /// Whether it is a whole multiple, in the decimals that both are written in: 0.3 is one of 0.1.
    pub(super) fn is_multiple_of(self, other: Self) -> bool {
        let (Some(number), Some(of)) = (Decimal::of(self), Decimal::of(other)) else { return false };
        match u32::try_from(number.exponent - of.exponent) {
            Ok(places) if of.digits != 0 => {
                ((number.digits % of.digits) * power_of_ten(places, of.digits)).is_multiple_of(of.digits)
            }
            Ok(_) => false,
            Err(_) => {
                let places = number.exponent.abs_diff(of.exponent);
                let of = 10_u128.checked_pow(places).and_then(|power| of.digits.checked_mul(power));
                // What does not fit is larger than all digits that a number has.
                number.digits == 0 || of.is_some_and(|of| of != 0 && number.digits.is_multiple_of(of))
            }
        }
    }
}

/// Modulo a number of 64 bits, so that no product exceeds 128.
fn power_of_ten(places: u32, modulus: u128) -> u128 {
    (0..places).fold(1 % modulus, |power, _| power * 10 % modulus)
}

fn order(integer: i128, float: f64) -> Ordering {
    // Every integer of JSON that is read as one has 64 bits, so a float beyond that is beyond all of them.
    const BEYOND: f64 = 4e19;
    if float >= BEYOND {
        Ordering::Less
    } else if float <= -BEYOND {
        Ordering::Greater
    } else {
        // Exact: a float of that size and without a fraction is an integer of 66 bits.
        let whole = float.trunc();
        integer.cmp(&(whole as i128)).then_with(|| 0.0_f64.partial_cmp(&(float - whole)).unwrap_or(Ordering::Equal))
    }
}

/// `digits * 10^exponent`, without the sign: it makes no difference to a multiple. The digits have 64 bits.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    fn of(number: Num) -> Option<Self> {
        match number {
            Num::Integer(digits) => Some(Self { digits: digits.unsigned_abs(), exponent: 0 }),
            Num::Float(float) => {
                // The shortest decimal that is read as the same float, as in `1.25e-7`.
                let text = format!("{:e}", float.abs());
                let (digits, exponent) = text.split_once('e')?;
                let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                let digits = digits.replace('.', "").parse().ok()?;
                Some(Self { digits, exponent: exponent.parse::<i32>().ok()? - i32::try_from(decimals).ok()? })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn num(value: &Value) -> Num {
        Num::of(value.as_number().expect("a number"))
    }

    #[test]
    fn integers_and_floats_are_ordered_by_what_they_say() {
        let ascending = [
            json!(-1e300),
            json!(i64::MIN),
            json!(-1.5),
            json!(-1),
            json!(0),
            json!(0.5),
            json!((1_i64 << 53) - 1),
            json!((1_i64 << 53) as f64),
            json!((1_i64 << 53) + 1),
            json!(i64::MAX),
            json!(9_223_372_036_854_775_808.0),
            json!(u64::MAX),
            json!(1e20),
        ];
        for (index, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(num(left).order(num(right)), index.cmp(&other), "{left} {right}");
            }
        }
        assert_eq!(num(&json!(0.0)).order(num(&json!(-0.0))), Ordering::Equal);
        assert_eq!(num(&json!(5)).order(num(&json!(5.0))), Ordering::Equal);
    }

    #[test]
    fn multiples_are_decimal() {
        for (number, of) in [
            (json!(0.3), json!(0.1)),
            (json!(0.0075), json!(0.0001)),
            (json!(-10), json!(5)),
            (json!(0), json!(7)),
            (json!(0.0), json!(7)),
            (json!(4.0), json!(2)),
            (json!(1e300), json!(1)),
            (json!(7e300), json!(7)),
            (json!(1e300), json!(1e-300)),
            (json!(u64::MAX), json!(5)),
        ] {
            assert!(num(&number).is_multiple_of(num(&of)), "{number} {of}");
        }
        for (number, of) in [
            (json!(0.35), json!(0.1)),
            (json!(0.00751), json!(0.0001)),
            (json!(7), json!(2)),
            (json!(0.1), json!(1)),
            (json!(1e-300), json!(1)),
            (json!(1e-300), json!(1e300)),
            (json!(1e300), json!(7)),
        ] {
            assert!(!num(&number).is_multiple_of(num(&of)), "{number} {of}");
        }
    }
}
