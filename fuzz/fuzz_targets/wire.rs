//! Whatever bytes arrive, `wire::read`
//! 1. does not panic, nor does any accessor of what it read;
//! 2. reads only JSON that `serde_json` reads too, and finds the same id, method, `params`, `_meta` and members in it;
//! 3. reads no value that is nested deeper than the limit;
//! 4. keeps ids so that their token reads back as an equal id;
//! 5. reads its own writing: the same message, put together from its parts, has the same parts;
//! 6. answers a defect with one line of JSON, with a code of the envelope, and with the id that `serde_json` finds.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use mcp_core::policy::Limits;
use mcp_core::wire::{self, Id, Message, Meta, Param, Shape, Unread, write};
use serde::de::IgnoredAny;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let mut limits = Limits::default();
    // Small, so that short inputs reach them.
    (limits.depth, limits.members, limits.batch, limits.id) = (12, 24, 4, 40);
    let body = Bytes::copy_from_slice(data);
    match wire::read(body.clone(), &limits) {
        Ok(message) => {
            let Ok(value) = serde_json::from_slice::<Value>(message.body()) else {
                // JSON by the grammar, with half a surrogate pair or a number beyond floats: nothing to compare with.
                let found = serde_json::from_slice::<IgnoredAny>(message.body());
                return found.map(drop).unwrap_or_else(|error| panic!("{error}"));
            };
            assert!(depth(&value) <= limits.depth);
            check(&message, &value, &limits);
            if message.shape() == Shape::Batch {
                let members = message.clone().into_batch();
                assert_eq!(members.len(), message.batch_len());
                assert_eq!(members.len(), value.as_array().map_or(0, Vec::len));
                for member in members {
                    match member {
                        Ok(member) => assert_ne!(member.shape(), Shape::Batch),
                        Err(unread) => refused(&unread),
                    }
                }
            }
        }
        Err(unread) => {
            refused(&unread);
            if let (Some(id), Ok(value)) = (&unread.id, serde_json::from_slice::<Value>(strip(data))) {
                assert!(is(id, &value["id"]), "{id:?} is not {}", value["id"]);
            }
        }
    }
});

fn strip(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(data)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn parsed(text: Option<&str>) -> Option<Value> {
    text.map(|text| serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}")))
}

fn token(id: &Id) -> Vec<u8> {
    let mut out = Vec::new();
    id.write(&mut out);
    out
}

/// Integers beyond 64 bits are floats to `serde_json`: only their kind is compared.
fn is(id: &Id, value: &Value) -> bool {
    match serde_json::from_slice::<Value>(&token(id)) {
        Ok(Value::Number(number)) if number.is_f64() => value.is_f64(),
        Ok(id) => id == *value,
        Err(_) => false,
    }
}

fn check(message: &Message, value: &Value, limits: &Limits) {
    let object = |value: Option<&Value>| value.filter(|value| value.is_object()).cloned();
    if let Some(id) = message.id() {
        assert!(is(id, &value["id"]));
        let raw = String::from_utf8(token(id)).expect("a token is text");
        assert_eq!(Id::parse(&raw, limits.id).as_ref(), Some(id));
    }
    match message.shape() {
        Shape::Request | Shape::Notification => {
            assert_eq!(value["method"], message.method());
            assert_eq!(message.shape() == Shape::Request, message.id().is_some());
            assert_eq!(message.shape() == Shape::Request, value.get("id").is_some());
            let params = value.get("params");
            assert_eq!(parsed(message.params()), object(params));
            assert_eq!(message.params_bytes(), message.params().unwrap_or("{}"));
            for key in Param::ALL {
                let right = params.and_then(|params| params.get(key.as_str()));
                let right = right.filter(|value| !(matches!(key, Param::Arguments | Param::Cursor) && value.is_null()));
                assert_eq!(parsed(message.param(key)).as_ref(), right);
                assert_eq!(message.param_str(key).as_deref(), right.and_then(Value::as_str));
            }
            let meta = params.and_then(|params| params.get("_meta"));
            assert_eq!(parsed(message.meta()), object(meta));
            for key in Meta::ALL {
                let right = meta.and_then(|meta| meta.get(key.as_str()));
                assert_eq!(parsed(message.meta_member(key)).as_ref(), right);
                assert_eq!(message.meta_str(key).as_deref(), right.and_then(Value::as_str));
            }
            again(message, limits);
        }
        Shape::Response => {
            assert_eq!(parsed(message.result()).as_ref(), value.get("result"));
            assert_eq!(message.error().is_some(), value.get("error").is_some());
            assert_eq!(message.method(), "");
        }
        Shape::Batch => assert_eq!((message.id(), message.method()), (None, "")),
    }
    if let Some(raw) = message.param(Param::Capabilities) {
        assert!(raw.starts_with('{') || wire::read_capabilities(raw).is_err());
    }
    if let Some(raw) = message.param(Param::ClientInfo) {
        let _ = wire::read_client_info(raw);
    }
}

fn again(message: &Message, limits: &Limits) {
    let mut out = Vec::new();
    match message.id() {
        Some(id) => write::request_open(&mut out, id, message.method()),
        None => write::notification_open(&mut out, message.method()),
    }
    out.extend_from_slice(&message.params_bytes());
    out.push(b'}');
    let again = wire::read(out.into(), limits).expect("what was written is read");
    assert_eq!((again.shape(), again.id(), again.method()), (message.shape(), message.id(), message.method()));
    assert_eq!(again.params_bytes(), message.params_bytes());
    assert_eq!(again.meta(), message.meta());
}

fn refused(unread: &Unread) {
    assert!(matches!(unread.fault.code().get(), -32700 | -32600 | -32602));
    assert_eq!(unread.fault.status(), 400);
    let mut out = Vec::new();
    write::error(&mut out, unread.id.as_ref(), &unread.fault);
    assert!(!out.contains(&b'\n') && !out.contains(&b'\r'));
    let answer: Value = serde_json::from_slice(&out).expect("an answer is JSON");
    assert_eq!(answer["error"]["code"], unread.fault.code().get());
    assert_eq!(answer.get("id").is_some(), unread.id.is_some());
}
