use serde::Deserialize;

use super::*;

fn read<T: FromTexts>(texts: &[(&str, &str)]) -> Result<T, String> {
    let texts: Vec<Text<'_>> =
        texts.iter().map(|(name, value)| Text { name, value: Some(value), declared: true }).collect();
    T::from_texts(&texts).map_err(|refused| refused.to_string())
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Blue,
}

#[derive(Debug, Deserialize, PartialEq)]
struct All {
    text: String,
    count: u64,
    ratio: f32,
    sure: bool,
    color: Color,
    maybe: Option<i8>,
    #[serde(default)]
    other: Option<String>,
}

#[test]
fn texts_are_read_into_what_the_code_wants() {
    let texts = [
        ("text", "7"),
        ("count", "42"),
        ("ratio", "0.5"),
        ("sure", "True"),
        ("color", "blue"),
        ("maybe", "-1"),
        ("unknown", "x"),
    ];
    let all =
        All { text: "7".into(), count: 42, ratio: 0.5, sure: true, color: Color::Blue, maybe: Some(-1), other: None };
    assert_eq!(read(&texts), Ok(all));
    assert_eq!(read(&[("a", "1"), ("b", "x")]), Ok((1_u8, "x".to_owned())));
    assert_eq!(read(&[("a", "1")]), Ok(1_u64));
    assert_eq!(read(&[("a", "1")]), Ok("1".to_owned()));
    assert_eq!(read(&[("a", "red")]), Ok(Color::Red));
    assert_eq!(read(&[("a", "1")]), Ok(Some(1_u8)));
    assert_eq!(read::<()>(&[("a", "1")]), Ok(()));
    let map = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
    assert_eq!(read(&[("a", "1")]), Ok(map));
    assert_eq!(read(&[("a", "1")]), Ok(serde_json::json!({"a": "1"})));
}

#[test]
fn what_does_not_fit_is_told_by_name() {
    assert_eq!(read::<u8>(&[("a", "256")]), Err("`a` must be an integer from 0 to 255".into()));
    assert_eq!(read::<f64>(&[("a", "NaN")]), Err("`a` must be a number".into()));
    assert_eq!(read::<bool>(&[("a", "1")]), Err("`a` must be true or false".into()));
    assert_eq!(read::<Color>(&[("a", "green")]), Err("`a` must be one of red, blue".into()));
    assert_eq!(read::<(u8, u8)>(&[("a", "1"), ("b", "")]), Err("`b` must be an integer from 0 to 255".into()));
    assert_eq!(read::<BTreeMap<String, u8>>(&[("c", "x")]), Err("`c` must be an integer from 0 to 255".into()));
    assert_eq!(read::<String>(&[("a", ""), ("b", "")]), Err("one text is read, and there are 2".into()));
    assert_eq!(read::<All>(&[("count", "1")]), Err("`text` is missing".into()));
    let absent = [Text { name: "a", value: None, declared: true }];
    assert_eq!(Option::<u8>::from_texts(&absent).expect("it may be"), None);
    let named = |name: &str| Some(Needed::Named(name.into()));
    assert_eq!(u8::from_texts(&absent).expect_err("it may not").lacks, named("a"));
    assert_eq!(first_needed::<All>(), named("text"));
    assert_eq!(first_needed::<BTreeMap<String, String>>(), None);
    assert_eq!(first_needed::<(u8, Option<String>)>(), Some(Needed::Places(2)));
    assert_eq!([first_needed::<u8>(), first_needed::<Option<Color>>()], [Some(Needed::One), Some(Needed::One)]);
}

#[test]
fn a_number_is_finite_in_the_bits_that_are_read() {
    assert_eq!(read::<f64>(&[("a", "1e39")]), Ok(1e39));
    assert_eq!(read::<f32>(&[("a", "1e39")]), Err("`a` must be a number of at most 32 bits".into()));
    assert_eq!(read::<f64>(&[("a", "1e999")]), Err("`a` must be a number".into()));
}

#[test]
fn what_has_no_place_is_read_by_name_alone() {
    let text = |name, declared| Text { name, value: Some(name), declared };
    let texts = [text("a", true), text("b", false)];
    let read = |refused: Refused| refused.to_string();
    assert_eq!(String::from_texts(&texts).map_err(read), Ok("a".into()));
    assert_eq!(Vec::<String>::from_texts(&texts).map_err(read), Ok(vec!["a".into()]));
    assert_eq!(<(String, String)>::from_texts(&texts).expect_err("one has a place").lacks, Some(Needed::Places(2)));
    assert_eq!(BTreeMap::<String, String>::from_texts(&texts).map_err(read).map(|map| map.len()), Ok(2));
}

#[test]
fn what_a_type_says_of_a_text_is_bounded_and_clean() {
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "String")]
    struct Picky;

    impl TryFrom<String> for Picky {
        type Error = String;

        fn try_from(text: String) -> Result<Self, String> {
            Err(format!("cannot be {text}"))
        }
    }

    let refused = read::<Picky>(&[("a", &"\u{1b}[31m\n".repeat(100_000))]).expect_err("it takes nothing");
    assert!(refused.starts_with("cannot be ") && refused.len() < 4000 && !refused.contains(char::is_control));
}
