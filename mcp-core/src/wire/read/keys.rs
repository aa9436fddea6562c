//! The keys that the protocol defines, for each of the three objects that are read.

use serde::de::MapAccess;

use super::Reader;
use super::fields::{Fields, Level, Nested};
use crate::wire::{Meta, Param};

/// A member of the envelope that the protocol defines.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
pub(super) enum Top {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
}

/// A member of `params`: a leaf, or the object that is read with it.
#[derive(Clone, Copy)]
pub(super) enum Inner {
    Leaf(Param),
    Meta,
}

/// Keys of one kind of object.
pub(super) trait Known: Copy {
    /// The name of the object itself, for messages.
    const OBJECT: &'static str;
    fn of(key: &str) -> Option<Self>;
    fn name(self) -> &'static str;
    /// Its bit in [`Level::seen`].
    fn bit(self) -> u32;
    /// The state of the object that it is a key of.
    fn level<'r, 'de>(reader: &'r mut Reader<'de>) -> &'r mut Level<'de>;
    /// Reads its value.
    fn value<'de, A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: &mut A) -> Result<(), A::Error>;
}

impl Known for Top {
    const OBJECT: &'static str = "message";

    fn of(key: &str) -> Option<Self> {
        Some(match key {
            "jsonrpc" => Self::Jsonrpc,
            "id" => Self::Id,
            "method" => Self::Method,
            "params" => Self::Params,
            "result" => Self::Result,
            "error" => Self::Error,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Jsonrpc => "jsonrpc",
            Self::Id => "id",
            Self::Method => "method",
            Self::Params => "params",
            Self::Result => "result",
            Self::Error => "error",
        }
    }

    fn bit(self) -> u32 {
        1 << self as u8
    }

    fn level<'r, 'de>(reader: &'r mut Reader<'de>) -> &'r mut Level<'de> {
        &mut reader.top
    }

    fn value<'de, A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: &mut A) -> Result<(), A::Error> {
        if self == Self::Params {
            reader.spans.params = map.next_value_seed(Nested(Fields::<Inner>::of(reader)))?;
            return Ok(());
        }
        let (raw, span) = reader.leaf(map)?;
        match self {
            Self::Jsonrpc => reader.jsonrpc = raw,
            Self::Id => reader.id = raw,
            Self::Method => (reader.method, reader.method_span) = (raw, span),
            Self::Result => reader.spans.result = span,
            Self::Error => reader.spans.error = span,
            Self::Params => {}
        }
        Ok(())
    }
}

impl Known for Inner {
    const OBJECT: &'static str = "params";

    fn of(key: &str) -> Option<Self> {
        Some(Self::Leaf(match key {
            "_meta" => return Some(Self::Meta),
            "name" => Param::Name,
            "arguments" => Param::Arguments,
            "cursor" => Param::Cursor,
            "uri" => Param::Uri,
            "level" => Param::Level,
            "requestId" => Param::RequestId,
            "reason" => Param::Reason,
            "protocolVersion" => Param::ProtocolVersion,
            "capabilities" => Param::Capabilities,
            "clientInfo" => Param::ClientInfo,
            "progressToken" => Param::ProgressToken,
            "progress" => Param::Progress,
            "total" => Param::Total,
            "message" => Param::Message,
            "inputResponses" => Param::InputResponses,
            "requestState" => Param::RequestState,
            "notifications" => Param::Notifications,
            "ref" => Param::Ref,
            "argument" => Param::Argument,
            "context" => Param::Context,
            "task" => Param::Task,
            "taskId" => Param::TaskId,
            _ => return None,
        }))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Leaf(param) => param.as_str(),
            Self::Meta => "_meta",
        }
    }

    fn bit(self) -> u32 {
        match self {
            Self::Leaf(param) => 1 << param as u8,
            Self::Meta => 1 << 31,
        }
    }

    fn level<'r, 'de>(reader: &'r mut Reader<'de>) -> &'r mut Level<'de> {
        &mut reader.params
    }

    fn value<'de, A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: &mut A) -> Result<(), A::Error> {
        match self {
            Self::Meta => reader.spans.meta = map.next_value_seed(Nested(Fields::<Meta>::of(reader)))?,
            Self::Leaf(param) => {
                let (raw, span) = reader.leaf(map)?;
                let absent = matches!(param, Param::Arguments | Param::Cursor) && raw == "null";
                if !absent {
                    reader.spans.set_param(param, span);
                }
            }
        }
        Ok(())
    }
}

impl Known for Meta {
    const OBJECT: &'static str = "_meta";

    fn of(key: &str) -> Option<Self> {
        Some(match key {
            "progressToken" => Self::ProgressToken,
            "traceparent" => Self::Traceparent,
            "tracestate" => Self::Tracestate,
            "baggage" => Self::Baggage,
            _ => match key.strip_prefix("io.modelcontextprotocol/")? {
                "protocolVersion" => Self::ProtocolVersion,
                "clientCapabilities" => Self::ClientCapabilities,
                "clientInfo" => Self::ClientInfo,
                "logLevel" => Self::LogLevel,
                _ => return None,
            },
        })
    }

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn bit(self) -> u32 {
        1 << self as u8
    }

    fn level<'r, 'de>(reader: &'r mut Reader<'de>) -> &'r mut Level<'de> {
        &mut reader.meta
    }

    fn value<'de, A: MapAccess<'de>>(self, reader: &mut Reader<'de>, map: &mut A) -> Result<(), A::Error> {
        reader.spans.member[self as usize] = reader.leaf(map)?.1;
        Ok(())
    }
}
