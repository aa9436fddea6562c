//! From what a server was told to one that runs, or to everything that is wrong with it.

use std::sync::Arc;

use mcp_core::catalog::Defect;
use mcp_core::{Caching, Endpoint, EndpointBuilder, ExtensionDecl};

use super::Server;
use crate::ask;
use crate::error::BuildError;
use crate::extension::Methods;
use crate::extract::States;
use crate::init;
use crate::module::Home;
use crate::seal::Keys;
use crate::serve::{App, Offers, Own};
use crate::ui;

impl Server {
    /// Checks everything.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at once: each defect names the tool, the rule and the remedy. Also if the operating system
    /// gives no random bytes for the default key.
    pub fn build(self) -> Result<App, BuildError> {
        let twice = self.twice.iter().map(|name| given_twice(name));
        let mut defects: Vec<Defect> = twice.chain(init::given_again(&self.inits)).collect();
        let mut policy = self.policy;
        policy.timing.hibernate_after = self.hibernate_after.unwrap_or(policy.timing.hibernate_after);
        policy.timing.idle = self.idle_timeout.unwrap_or(policy.timing.idle);
        let init = self.inits.into_iter().next();
        let seal = self.seal.or_else(|| match Keys::random() {
            Ok(keys) => Some(Arc::new(keys)),
            Err(error) => {
                let message = format!("no random bytes for a key ({error}): give the server keys with `.seal(..)`");
                defects.push(Defect { entry: "server".into(), rule: "MRTR-8", message: message.into() });
                None
            }
        });
        let mut states = self.states;
        states.own = Home::new(None, self.defaults, None, &mut defects);
        let logging = self.logging || wants_logging(&states);
        states.asking = ask::Settings::new(&policy, self.used);
        (states.init, states.assigns) = (init.as_ref().map(|init| init.keeps), policy.limits.assigns);
        let mut endpoint = Endpoint::builder(self.who)
            .policy(policy)
            .tools(true)
            .logging(logging)
            .sessions(self.sessions)
            .caching(mcp_core::CacheHint::from(self.cache).or(Caching::NONE))
            .init(init.is_some());
        endpoint = seal.into_iter().fold(endpoint, mcp_core::EndpointBuilder::seal);
        endpoint =
            self.implied.iter().fold(endpoint, |endpoint, (broad, narrow)| endpoint.scope_implies(broad, narrow));
        #[cfg(feature = "http")]
        if let Some(url) = self.transports.http.resource_metadata() {
            endpoint = endpoint.resource_metadata(url);
        }
        if let Some(instructions) = &self.instructions {
            endpoint = endpoint.instructions(instructions);
        }
        if let Some(revisions) = &self.revisions {
            endpoint = endpoint.revisions(revisions);
        }
        let mut offers = self.offers.and(self.entries.wants());
        offers.logging |= logging;
        if self.entries.has_pages() || self.pages_apart {
            endpoint = endpoint.extension(ExtensionDecl::new(ui::EXTENSION).with_legacy());
        }
        if self.pages_apart {
            endpoint = endpoint.pages(ui::are_shown_by);
        }
        endpoint = offering(endpoint, offers);
        for (name, settings) in &self.experimental {
            endpoint = endpoint.experimental(name, &settings.to_string());
        }
        defects.extend(lacks_around(&states).chain(states.guarding.defects(&states)));
        let states = Arc::new(states);
        let mut methods = Methods::new();
        for extension in self.extensions {
            endpoint = endpoint.extension(extension.split(&states, &mut methods, &mut defects));
        }
        let init = init.map(|init| init.into_entry(&states, &mut defects));
        let own = Own { methods, init, visible: self.visible.into() };
        let table = self.entries.build(&states, self.coerce, offers).map_err(|found| defects.extend(found));
        if let (Ok(table), Some(focus)) = (&table, &states.focus) {
            defects.extend(focus.check(|name| table.has_tool(name)));
        }
        defects.extend(states.guarding.unused());
        let endpoint = endpoint.build().map_err(|found| defects.extend(found));
        #[cfg(feature = "http")]
        defects.extend(self.transports.http.defects());
        match (endpoint, table) {
            (Ok(endpoint), Ok(table)) if defects.is_empty() => {
                Ok(App::new(endpoint, states, self.coerce, offers, own, table, self.transports))
            }
            _ => Err(BuildError::new(defects)),
        }
    }
}

fn offering(mut endpoint: EndpointBuilder, offers: Offers) -> EndpointBuilder {
    if offers.resources {
        endpoint = endpoint.resources(true, true);
    }
    if offers.prompts {
        endpoint = endpoint.prompts(true);
    }
    if offers.completions {
        endpoint = endpoint.completions();
    }
    endpoint
}

/// Whether what runs around calls logs to clients.
fn wants_logging(states: &States) -> bool {
    let around = states.wraps.needs().logging || states.own.defaults.guards.wraps.needs().logging;
    around || states.guarding.wants_logging()
}

/// What is wrong with what runs around all calls.
fn lacks_around(states: &States) -> impl Iterator<Item = Defect> {
    let lacks = states.wraps.needs().states.into_iter().filter_map(|wanted| states.lacks(&wanted));
    lacks.map(|lacks| Defect {
        entry: "server".into(),
        rule: "TOOL-6",
        message: format!("what is wrapped around its calls: {lacks}").into(),
    })
}

fn given_twice(name: &str) -> Defect {
    let message = format!(
        "the state `{name}` was given twice, and a tool could not tell them apart: wrap one in a type of its own, as in \
         `struct Readers(Pool)`"
    );
    Defect { entry: "server".into(), rule: "TOOL-6", message: message.into() }
}
