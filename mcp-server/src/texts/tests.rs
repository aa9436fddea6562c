use serde::Deserialize;

use super::*;

fn read<T: FromTexts>(texts: &[(&str, &str)]) -> Result<T, String> {
    let texts: Vec<Text<'_>> = texts.iter().map(|(name, value)| Text { name, value: Some(value) }).collect();
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
    let absent = [Text { name: "a", value: None }];
    assert_eq!(Option::<u8>::from_texts(&absent).expect("it may be"), None);
    assert!(u8::from_texts(&absent).expect_err("it may not").missing);
    assert_eq!(first_needed::<All>().as_deref(), Some("text"));
    assert_eq!(first_needed::<BTreeMap<String, String>>(), None);
}
