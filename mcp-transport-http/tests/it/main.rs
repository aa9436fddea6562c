//! The transport as its clients see it: the service in memory, and the server over sockets.

mod authenticate;
mod changes;
mod cluster;
mod connections;
mod embedding;
mod heads;
mod hibernation;
#[cfg(feature = "sse")]
mod http_sse;
#[cfg(feature = "sse")]
mod http_sse_limits;
mod init;
mod listening;
mod logs;
mod modern;
mod races;
mod requests;
mod resume;
mod room;
mod scopes;
mod server;
mod sessions;
mod support;
mod time;
mod uploads;
