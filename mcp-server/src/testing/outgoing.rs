//! What the client sends, as text: its members in the order in which people write them.

use std::fmt::Write as _;

use mcp_core::Level;
use serde::Serialize;
use serde_json::{Map, Value};

/// A request or notification that is to be sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    method: Box<str>,
    params: Params,
    /// More members of `_meta`, which take precedence.
    pub(super) meta: Map<String, Value>,
    /// Whether a token asks for progress.
    pub(super) progress: bool,
    pub(super) level: Option<Level>,
}

#[derive(Debug)]
enum Params {
    /// An object: keys, and JSON texts.
    Members(Vec<(Box<str>, String)>),
    /// Something that is no object, and therefore wrong.
    Wrong(String),
}

impl Outgoing {
    /// A call of a tool. Arguments of nothing are left out.
    pub(super) fn call(tool: &str, arguments: &impl Serialize) -> Result<Self, serde_json::Error> {
        let mut members = vec![("name".into(), Value::from(tool).to_string())];
        let arguments = serde_json::to_string(arguments)?;
        if arguments != "null" {
            members.push(("arguments".into(), arguments));
        }
        let params = Params::Members(members);
        Ok(Self { method: "tools/call".into(), params, meta: Map::new(), progress: true, level: None })
    }

    /// A request that runs code of the server's, and may hear of its progress.
    pub(super) fn running(method: &str, params: &Value) -> Self {
        let members = params.as_object().into_iter().flatten();
        let members = members.filter(|(_, value)| !value.is_null());
        let params = Params::Members(members.map(|(key, value)| (key.as_str().into(), value.to_string())).collect());
        Self { method: method.into(), params, meta: Map::new(), progress: true, level: None }
    }

    /// One more member of its params.
    pub(super) fn param(&mut self, key: &str, value: &Value) {
        if let Params::Members(members) = &mut self.params {
            members.push((key.into(), value.to_string()));
        }
    }

    /// Anything.
    pub(super) fn any(method: &str, params: &impl Serialize) -> Result<Self, serde_json::Error> {
        let mut meta = Map::new();
        let params = match serde_json::to_value(params)? {
            Value::Null => Params::Members(Vec::new()),
            Value::Object(mut members) => {
                match members.remove("_meta") {
                    Some(Value::Object(given)) => meta = given,
                    Some(wrong) => drop(members.insert("_meta".into(), wrong)),
                    None => {}
                }
                Params::Members(members.into_iter().map(|(key, value)| (key.into(), value.to_string())).collect())
            }
            wrong => Params::Wrong(wrong.to_string()),
        };
        Ok(Self { method: method.into(), params, meta, progress: false, level: None })
    }

    /// The same once more, with the answers to what was asked (MRTR-5).
    pub(super) fn again(mut self, answers: &Value, state: Option<&Value>) -> Self {
        if let Params::Members(members) = &mut self.params {
            members.retain(|(key, _)| **key != *"inputResponses" && **key != *"requestState");
            members.push(("inputResponses".into(), answers.to_string()));
            members.extend(state.map(|state| ("requestState".into(), state.to_string())));
        }
        self
    }

    /// What is asked, for people.
    pub(super) fn asked(&self) -> String {
        let name = match &self.params {
            Params::Members(members) => members.iter().find(|(key, _)| **key == *"name"),
            Params::Wrong(_) => None,
        };
        match name.and_then(|(_, name)| serde_json::from_str::<String>(name).ok()) {
            Some(name) if *self.method == *"tools/call" => format!("`{name}`"),
            _ => format!("`{}`", self.method),
        }
    }

    /// The text of a request.
    pub(super) fn request(&self, id: u64, meta: Map<String, Value>) -> String {
        self.text(&format!("\"id\":{id},"), meta)
    }

    /// The text of a notification.
    pub(super) fn notification(&self) -> String {
        self.text("", Map::new())
    }

    fn text(&self, id: &str, mut meta: Map<String, Value>) -> String {
        meta.extend(self.meta.clone());
        let method = Value::from(&*self.method);
        let mut text = format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":{method}");
        match &self.params {
            Params::Wrong(params) => text.extend([",\"params\":", params]),
            Params::Members(members) => {
                let meta = (!meta.is_empty()).then(|| ("_meta".into(), Value::from(meta).to_string()));
                let mut separator = ",\"params\":{";
                for (key, value) in members.iter().chain(&meta) {
                    let _ = write!(text, "{separator}{}:{value}", Value::from(&**key));
                    separator = ",";
                }
                text.push_str(if separator == "," { "}" } else { "" });
            }
        }
        text.push('}');
        text
    }
}

/// The text of a response.
pub(super) fn response(id: &Value, result: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// The text of an error response.
pub(super) fn error_response(id: &Value, code: i64, message: &str) -> String {
    let message = Value::from(message);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}}}}}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_in_the_order_of_the_protocol_and_arguments_in_their_own() {
        #[derive(Serialize)]
        struct Add {
            b: i32,
            a: i32,
        }
        let call = Outgoing::call("add", &Add { b: 1, a: 2 }).unwrap();
        let meta = json!({"progressToken": 3}).as_object().cloned().unwrap();
        assert_eq!(
            call.request(3, meta),
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"b":1,"a":2},"_meta":{"progressToken":3}}}"#
        );
        assert_eq!(call.asked(), "`add`");
    }

    #[test]
    fn nothing_is_left_out_and_what_is_wrong_is_sent_as_it_is() {
        let text = |method: &str, params: Value| Outgoing::any(method, &params).unwrap().notification();
        assert_eq!(text("x", Value::Null), r#"{"jsonrpc":"2.0","method":"x"}"#);
        assert_eq!(text("x", json!({})), r#"{"jsonrpc":"2.0","method":"x"}"#);
        assert_eq!(text("x", json!([1])), r#"{"jsonrpc":"2.0","method":"x","params":[1]}"#);
        assert_eq!(text("x", json!({"_meta": 1})), r#"{"jsonrpc":"2.0","method":"x","params":{"_meta":1}}"#);
        assert_eq!(text("\"", json!({"a\"": 1})), r#"{"jsonrpc":"2.0","method":"\"","params":{"a\"":1}}"#);
    }

    #[test]
    fn what_the_test_says_of_meta_takes_precedence() {
        let request = Outgoing::any("x", &json!({"_meta": {"a": 1}})).unwrap();
        let meta = json!({"a": 2, "b": 3}).as_object().cloned().unwrap();
        assert_eq!(
            request.request(1, meta),
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"a":1,"b":3}}}"#
        );
    }
}
