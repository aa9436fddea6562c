//! Whatever template and URI arrive,
//! 1. neither does harm;
//! 2. the values of a match are the template's variables, in its order, without a segment `..` or a NUL;
//! 3. a match makes a URI that is matched alike.
//!
//! The first line of the input is the template, the rest the URI.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_core::uri_template::UriTemplate;

fuzz_target!(|data: &str| {
    let (text, uri) = data.split_once('\n').unwrap_or((data, data));
    let Ok(template) = UriTemplate::parse(text) else { return };
    assert_eq!(template.as_str(), text);
    let Some(found) = template.matches(uri) else { return };

    let mut names = template.variables();
    for (name, value) in &found {
        assert!(names.any(|known| known == &**name));
        assert!(!value.contains('\0') && !value.split(['/', '\\']).any(|segment| segment == ".."));
    }
    // What was written raw may be longer than allowed once it is encoded.
    match template.expand(&found) {
        Ok(again) => assert_eq!(template.matches(&again), Some(found), "{again}"),
        Err(error) => assert!(error.to_string().contains("longer"), "{error}"),
    }
});
