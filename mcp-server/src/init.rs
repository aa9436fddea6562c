//! Who is let in: code that runs before a client is served.

use std::panic::Location;
use std::sync::Arc;

use mcp_core::catalog::Defect;
use serde_json::Map;

use crate::assigns::Kept;
#[cfg(feature = "tokio")]
use crate::code::Plain;
use crate::code::{Code, Entry, InitFn, Place, Work};
use crate::extract::{Needs, States};
use crate::middleware::Wraps;
use crate::server::Server;

/// Code that says who is let in.
#[derive(Debug)]
pub(crate) struct Init {
    pub(crate) keeps: Kept,
    needs: Needs,
    code: Code,
    place: &'static Location<'static>,
}

impl Server {
    /// Runs code before a client is served: it looks at who comes, refuses whom it does not want, and says what is to be kept of
    /// the others, for tools to take as [`Assigns`](crate::Assigns).
    ///
    /// ```
    /// use mcp_server::{Assigns, CallError, Caller, Server, Tool};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct User {
    ///     name: String,
    /// }
    ///
    /// // Over HTTP it may as well take `HeaderMap`, and from a database what it needs to know.
    /// async fn init(caller: Caller) -> Result<User, CallError> {
    ///     let principal = caller.principal.ok_or_else(|| CallError::new("sign in first"))?;
    ///     Ok(User { name: principal.as_str().into() })
    /// }
    ///
    /// let me = Tool::new("me").description("Tells who you are.").run(|user: Assigns<User>| user.0.name);
    /// Server::new("my-app", "1.0.0").init(init).tool(me).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// | client | it runs | what is kept lives |
    /// |---|---|---|
    /// | with a handshake, over HTTP or stdio | once, before `initialize` is answered | as long as the session, also while it sleeps |
    /// | of 2026-07-28; or with a handshake where there are no [`sessions`](Server::sessions) | before each request | as long as the request |
    ///
    /// It is a closure or function that takes up to eight [extractors](crate::Extract), as tools do, and returns what
    /// [`IntoAssigns`](crate::IntoAssigns) knows, at once or as a future: [`InitFn`].
    ///
    /// A client that is refused is told `Initialization failed: ` and why: the text of the error, or `internal error` where that is not for
    /// others (-32603). So it is told whatever it asks: it finds no lists, and an unknown name is no different from a known one. It
    /// gets no session. Only `ping` and `server/discover` are answered all the same, which say nothing of anybody.
    ///
    /// It cannot [ask](crate::ask) the client, log to it or tell it of progress. A panic is a refusal. Before each request it runs again, also
    /// before the retry of one that asked, so what is dear to find out is best remembered in a [`State`](crate::State). What
    /// 2026-07-28 is given by such a server is for no shared cache (CACHE-4).
    #[track_caller]
    pub fn init<F, M>(self, code: F) -> Self
    where
        F: InitFn<M>,
    {
        self.with_init(code, Place::Here, Location::caller())
    }

    /// The same with plain code that blocks: it runs on tokio's pool of blocking threads.
    #[cfg(feature = "tokio")]
    #[track_caller]
    pub fn init_blocking<F, M>(self, code: F) -> Self
    where
        F: InitFn<Plain<M>>,
    {
        self.with_init(code, Place::Pool, Location::caller())
    }

    fn with_init<F: InitFn<M>, M>(mut self, code: F, place: Place, at: &'static Location<'static>) -> Self {
        let mut needs = Needs::default();
        F::needs(&mut needs);
        self.inits.push(Init { keeps: F::keeps(), needs, code: code.into_code(place), place: at });
        self
    }
}

impl Init {
    /// As it is called.
    pub(crate) fn into_entry(self, states: &Arc<States>, defects: &mut Vec<Defect>) -> Arc<Entry> {
        for wanted in &self.needs.states {
            // It is what makes them.
            let lacks = match wanted.is_assigns() {
                true => Some("it takes `Assigns`, which it is to make: nothing is kept before it has run".into()),
                false => states.lacks(wanted),
            };
            defects.extend(lacks.map(|lacks| defect(format!("the init given at {}: {lacks}", self.place))));
        }
        Arc::new(Entry {
            name: "init".into(),
            tags: Map::new(),
            states: Arc::clone(states),
            cancelling: self.needs.cancelling,
            wraps: Wraps::new(),
            code: self.code,
            work: Work::Init,
        })
    }
}

/// Of several, none would know of the others.
pub(crate) fn given_again(inits: &[Init]) -> Option<Defect> {
    let [first, second, ..] = inits else { return None };
    Some(defect(format!(
        "two inits were given, at {} and {}: give one, which may call other code",
        first.place, second.place
    )))
}

fn defect(message: String) -> Defect {
    Defect { entry: "server".into(), rule: "LIFE-1", message: message.into() }
}
