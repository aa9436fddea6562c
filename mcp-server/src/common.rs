//! What a tool's code has of the default params of its module.

use std::any::{TypeId, type_name};

use serde_json::{Map, Value};

use crate::arguments::{self, Arguments, Given};
use crate::call_error::CallError;
use crate::check::Rules;
use crate::ctx::Ctx;
use crate::defaults::{CommonParam, CommonType};
use crate::extract::{Extract, Needs};

/// The default params of the module, for code with arguments of its own: `P` is a type that the module has with
/// [`arguments`](crate::Defaults::arguments), or [`Value`], which holds them all.
///
/// ```
/// use mcp_server::{Arguments, Common, Module, Server, Tool};
///
/// #[derive(Arguments)]
/// struct Account {
///     /// Account ID
///     account_id: String,
/// }
///
/// #[derive(Arguments)]
/// struct Page {
///     /// Page ID
///     id: String,
/// }
///
/// let pages = Module::new("pages").arguments::<Account>().tool(
///     Tool::new("get_page")
///         .description("Gets a page.")
///         .run(|Common(account): Common<Account>, page: Page| format!("{} of {}", page.id, account.account_id)),
/// );
/// Server::new("my-app", "1.0.0").module(pages).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// A tool that takes it where no module gives it, or that skips or replaces what `P` cannot do without, is told when the server
/// is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common<P>(pub P);

impl<P: Arguments> Extract for Common<P> {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        let Some((taken, members)) = ctx.common() else {
            return Err(CallError::hidden(format!("there are no default params for `{}`", type_name::<P>())));
        };
        let given = Given::Changed(taken.of(TypeId::of::<P>(), members).into());
        P::read(&given).map(Self).map_err(|_| CallError::blocks(arguments::refused::<P>(ctx.tool(), &given).content))
    }

    fn needs(needs: &mut Needs) {
        needs.common::<P>();
    }
}

/// What a module takes out of the arguments before a tool's code reads them.
#[derive(Debug)]
pub(crate) struct Taken {
    /// The default params that the tool has.
    pub(crate) names: Vec<Box<str>>,
    /// The types that some of them are the fields of.
    pub(crate) types: Vec<(TypeId, Vec<Box<str>>)>,
    /// Those that the code does not read with its other arguments.
    pub(crate) strips: Vec<Box<str>>,
    /// What adds their defaults, where the rules of the tool do not.
    pub(crate) fills: Option<Rules>,
}

impl Taken {
    /// The fields that each type reads. What a module within the one that gives it has in place of a field is none: it may be
    /// of another type.
    pub(crate) fn types(known: &[CommonType], params: &[CommonParam]) -> Vec<(TypeId, Vec<Box<str>>)> {
        let fields = |id: TypeId| params.iter().filter(move |param| param.group.of == Some(id));
        known.iter().map(|known| (known.id, fields(known.id).map(|param| param.name.clone()).collect())).collect()
    }

    /// Takes them out.
    pub(crate) fn split(&self, arguments: &mut Value) -> Map<String, Value> {
        let mut common = Map::new();
        let Some(members) = arguments.as_object_mut() else { return common };
        for name in &self.names {
            let value =
                if self.strips.contains(name) { members.shift_remove(&**name) } else { members.get(&**name).cloned() };
            if let Some(value) = value {
                common.insert(name.to_string(), value);
            }
        }
        match &self.fills {
            Some(rules) => rules.fill(common),
            None => common,
        }
    }

    fn of(&self, id: TypeId, members: &Map<String, Value>) -> Map<String, Value> {
        match self.types.iter().find(|(known, _)| *known == id) {
            Some((_, names)) => {
                let own = |name: &str| Some((name.to_owned(), members.get(name)?.clone()));
                names.iter().filter_map(|name| own(name)).collect()
            }
            None => members.clone(),
        }
    }
}

/// Whether a type takes the default params of any module.
pub(crate) fn takes_any(id: TypeId) -> bool {
    id == TypeId::of::<Value>() || id == TypeId::of::<Map<String, Value>>()
}
