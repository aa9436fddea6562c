//! Which sensitive tools are guarded, and by what.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_core::catalog::Defect;
use mcp_core::fault::reflect;

use super::{AuthorizeFn, Authorizer};
use crate::extract::{Needs, States};
use crate::server::Server;

impl Server {
    /// Asks that code before each call of a [sensitive](crate::Tool::is_sensitive) tool: one that says that it is, or that it is
    /// destructive. It says whether the call is allowed, or has the person at the client decide.
    ///
    /// ```
    /// use mcp_server::{Authorization, Caller, Ctx, Server, tool};
    ///
    /// /// Deletes a note.
    /// #[tool(destructive)]
    /// fn delete_note(id: u32) -> String {
    ///     format!("Note {id} is gone.")
    /// }
    ///
    /// fn authorize(ctx: Ctx, caller: Caller) -> Authorization {
    ///     match caller.principal {
    ///         Some(user) if user.as_str() == "root" => Authorization::Allow,
    ///         Some(_) => Authorization::ask(format!("Run `{}`?", ctx.tool())),
    ///         None => Authorization::deny("sign in first"),
    ///     }
    /// }
    ///
    /// Server::new("my-app", "1.0.0").authorize(authorize).tool(delete_note).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// It runs within all [middleware](Server::wrap), after the arguments were held against their schema and before anything else of
    /// the tool, on each run of a call that [asks](crate::ask). [`Ctx::arguments`](crate::Ctx::arguments) has them as the code gets
    /// them: with defaults, and with what the schema turns into another type. Who is denied is told so in words that a model may
    /// read. If it fails or panics, the call is denied; so it is if the authorizer itself [asks](crate::Ctx::ask).
    ///
    /// With [`Authorization::Ask`](crate::Authorization::Ask) the person is shown a form with one field, `approve`. Whatever they say but yes is a
    /// no; so is a client that cannot ask them. An approval is for one call of one user with the same arguments, also in what that call
    /// asks later, and cannot be used again: where the question's state travels through the client, servers that answer for one another
    /// need [`used_states`](Server::used_states) that they share.
    ///
    /// A server with a sensitive tool and without an authorizer is not built, unless it
    /// [says so](Server::allow_unguarded) of that tool.
    #[track_caller]
    pub fn authorize<F: AuthorizeFn<M>, M>(mut self, authorizer: F) -> Self {
        let mut needs = Needs::default();
        let authorizer = authorizer.into_authorizer(&mut needs);
        self.states.guarding.given.push(Given { authorizer, needs: Arc::new(needs), place: Location::caller() });
        self
    }

    /// Lets everybody who sees them call these sensitive tools, without asking an [authorizer](Server::authorize). One that is none
    /// is a mistake that is told when the server is built.
    pub fn allow_unguarded<N: AsRef<str>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        let tools = tools.into_iter().map(|name| Unguarded { name: name.as_ref().into(), is_used: Arc::default() });
        self.states.guarding.unguarded.extend(tools);
        self
    }
}

/// What a server says of its sensitive tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guarding {
    /// One at most, or the server cannot be built.
    given: Vec<Given>,
    unguarded: Vec<Unguarded>,
    /// There is no server, and nothing is called.
    is_moot: bool,
}

#[derive(Clone, Debug)]
struct Given {
    authorizer: Authorizer,
    needs: Arc<Needs>,
    place: &'static Location<'static>,
}

/// A tool that is called by whoever sees it.
#[derive(Clone, Debug)]
struct Unguarded {
    name: Box<str>,
    /// Whether there is such a tool.
    is_used: Arc<AtomicBool>,
}

impl Guarding {
    /// Of definitions that are looked at, and not served.
    pub(crate) const fn moot() -> Self {
        Self { given: Vec::new(), unguarded: Vec::new(), is_moot: true }
    }

    /// What runs around that sensitive tool; the error says what is wrong.
    pub(crate) fn around(&self, tool: &str) -> Result<Option<Authorizer>, &'static str> {
        if let Some(named) = self.unguarded.iter().find(|unguarded| *unguarded.name == *tool) {
            named.is_used.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        match self.given.first() {
            Some(given) => Ok(Some(given.authorizer.clone())),
            None if self.is_moot => Ok(None),
            None => Err(
                "it is sensitive, as it says so or that it is destructive, and the server has nothing that says who \
                may call it: give the server an authorizer with `.authorize(..)`, or let everybody call this tool, with its name in \
                `.allow_unguarded([..])`",
            ),
        }
    }

    pub(crate) fn wants_logging(&self) -> bool {
        self.given.iter().any(|given| given.needs.logging)
    }

    /// What is wrong with the authorizer.
    pub(crate) fn defects(&self, states: &States) -> Vec<Defect> {
        let lacks = self.given.iter().flat_map(|given| {
            let lacks = given.needs.states.iter().filter_map(|wanted| states.lacks(wanted));
            lacks.map(|lacks| defect(format!("the authorizer given at {}: {lacks}", given.place)))
        });
        let again = match &*self.given {
            [first, second, ..] => Some(defect(format!(
                "two authorizers were given, at {} and {}: give one, which may call other code",
                first.place, second.place
            ))),
            _ => None,
        };
        lacks.chain(again).collect()
    }

    /// Names of sensitive tools that there are not, once all tools were looked at.
    pub(crate) fn unused(&self) -> Vec<Defect> {
        let unused = self.unguarded.iter().filter(|unguarded| !unguarded.is_used.load(Ordering::Relaxed));
        unused
            .map(|Unguarded { name, .. }| {
                defect(format!(
                    "`allow_unguarded` names `{}`, which is no sensitive tool of this server: leave it out, or mend its name",
                    reflect(name)
                ))
            })
            .collect()
    }
}

fn defect(message: String) -> Defect {
    Defect { entry: "server".into(), rule: "TOOL-17", message: message.into() }
}
