//! The scripts, each of which Redis runs as one step.

use std::sync::LazyLock;

use mcp_core::Principal;
use redis::{Script, ScriptInvocation};

use super::Redis;
use crate::store::SessionKey;

macro_rules! scripts {
    ($($name:ident: $($file:literal)+;)+) => {
        $(pub(super) static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(concat!($(include_str!(concat!("lua/", $file, ".lua")), "\n"),+)));)+
    };
}

scripts! {
    CREATE: "session" "create";
    ACQUIRE: "session" "acquire";
    SAVE: "session" "save";
    RENEW: "session" "renew";
    REMOVE: "session" "remove";
    APPEND: "session" "log" "append";
    AFTER: "session" "log" "after";
    TRUNCATE: "session" "log" "truncate";
    FORGET: "session" "forget";
    SEND: "nodes" "send";
    BROADCAST: "nodes" "broadcast";
    RECEIVE: "nodes" "receive";
    LEAVE: "nodes" "leave";
}

impl Redis {
    /// A script on one session, whose keys share a hash slot, with the principal as its first argument.
    pub(super) fn on_session<'a>(&self, script: &'a Script, key: &SessionKey) -> ScriptInvocation<'a> {
        let mut call = script.prepare_invoke();
        for key in self.session_keys(key) {
            call.key(key);
        }
        call.arg(whose(key.principal.as_ref()));
        call
    }

    pub(super) fn session_keys(&self, key: &SessionKey) -> [String; 6] {
        let session = key.session.encode();
        ["", ":lease", ":tracks", ":events", ":order", ":ended"]
            .map(|part| format!("{}:{{{session}}}{part}", self.prefix))
    }

    /// A script on the nodes and their inboxes.
    pub(super) fn on_nodes<'a>(&self, script: &'a Script) -> ScriptInvocation<'a> {
        script.key(self.nodes_key())
    }

    pub(super) fn nodes_key(&self) -> String {
        format!("{}:{{nodes}}", self.prefix)
    }
}

/// A principal, or that there is none.
pub(super) fn whose(principal: Option<&Principal>) -> String {
    principal.map_or_else(|| "-".to_owned(), |principal| format!("={}", principal.as_str()))
}
