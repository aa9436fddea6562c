//! A client that wants to hear of changes.

use std::future::Future;
use std::panic::Location;

use mcp_core::Era;
use serde_json::{Value, json};

use super::calling::Call;
use super::client::Client;
use super::inbox::Inbox;
use super::notice::Notice;

/// What a client listens to: until it [stops](Client::stop_listening), or the server ends.
#[derive(Debug)]
pub struct Listening {
    /// The request that is not answered while it listens: 2026-07-28 only.
    call: Option<Call>,
    uris: Vec<String>,
}

impl Listening {
    /// The resources that the server follows for it: those that were asked for, without the unknown and the hidden.
    #[must_use]
    pub fn uris(&self) -> &[String] {
        &self.uris
    }
}

impl Client {
    /// Asks to hear of changes, in the way of its revision: of every list that the server promises word of, and of the contents
    /// of those resources. What it then hears it says as in [`Client::next_notice`] and its like.
    ///
    /// A client of 2026-07-28 hears of nothing before; it sends `subscriptions/listen`. The others hear of lists anyway, and send
    /// `resources/subscribe` for each resource.
    ///
    /// ```
    /// # use mcp_server::testing::{Client, block_on};
    /// # use mcp_server::{Resource, Server};
    /// # let readme = Resource::new("doc://readme").name("readme").description("The readme.").run(|| "Read me");
    /// # let app = Server::new("my-app", "1.0.0").resource(readme).build()?;
    /// # block_on(async {
    /// let mut client = Client::builder(&app).modern().connect();
    /// let listening = client.listen(["doc://readme", "doc://unknown"]).await;
    /// assert_eq!(listening.uris(), ["doc://readme"]);
    /// app.resource_updated("doc://readme");
    /// assert_eq!(client.take_updates(), ["doc://readme"]);
    /// # });
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a server of 2026-07-28 refuses.
    #[track_caller]
    pub fn listen<'u>(&mut self, uris: impl IntoIterator<Item = &'u str>) -> impl Future<Output = Listening> + Send {
        let place = Location::caller();
        let uris: Vec<String> = uris.into_iter().map(ToOwned::to_owned).collect();
        async move {
            if self.revision().era() == Era::Legacy {
                let mut followed = Vec::new();
                for uri in uris {
                    if self.request("resources/subscribe", json!({"uri": uri})).await.is_ok() {
                        followed.push(uri);
                    }
                }
                return Listening { call: None, uris: followed };
            }
            let wanted = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
                "resourceSubscriptions": uris});
            let call = self.request("subscriptions/listen", json!({"notifications": wanted})).start();
            let Self { driver, inbox, .. } = self;
            let found = driver.until(|driver| {
                inbox.sort(driver);
                let acknowledged = take_acknowledgement(inbox, call.id);
                acknowledged.map(Some).or_else(|| inbox.answers.contains_key(&call.id).then_some(None))
            });
            match found.await {
                Some(Some(honoured)) => {
                    let uris = honoured["resourceSubscriptions"].as_array().into_iter().flatten();
                    let uris = uris.filter_map(Value::as_str).map(ToOwned::to_owned).collect();
                    Listening { call: Some(call), uris }
                }
                Some(None) => {
                    let answer = self.answer(call).await;
                    panic!("the client may not listen, asked at {place}\n{answer}")
                }
                None => self.stand("the acknowledgement of a subscription, asked", place),
            }
        }
    }

    /// Wants to hear no more of what it listened to.
    ///
    /// # Panics
    ///
    /// If another client listened.
    pub async fn stop_listening(&mut self, listening: Listening) {
        match listening.call {
            Some(call) => drop(self.cancel(call)),
            None => {
                for uri in listening.uris {
                    // It answers the same whatever was followed (RES-7).
                    let _ = self.request("resources/unsubscribe", json!({"uri": uri})).await;
                }
            }
        }
    }
}

/// Takes out what the server honours of that subscription, once it has said so.
fn take_acknowledgement(inbox: &mut Inbox, id: u64) -> Option<Value> {
    let at = inbox.notices.iter().position(|notice| match notice {
        Notice::Other(message) => {
            message["method"] == "notifications/subscriptions/acknowledged"
                && message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == id
        }
        _ => false,
    })?;
    match inbox.notices.remove(at) {
        Some(Notice::Other(mut message)) => Some(message["params"]["notifications"].take()),
        _ => None,
    }
}
