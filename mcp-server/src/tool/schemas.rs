//! The schemas of a tool: as they are published, and what enforces them.

use mcp_core::catalog::{self, Catalog, Handle};
use serde_json::Value;

use super::{Report, compose};
use crate::check::{Judged, Options, Rules, Violation};
use crate::common::Taken;
use crate::defaults::{CommonParam, CommonType};
use crate::extract::{Needs, Wanted};
use crate::module::Home;
use crate::param::{self, Param};
use crate::schema::{self, Check};
use crate::validate::Validator;

/// A schema as data.
pub(super) enum Given {
    /// Emitted as it is written, its members in their order (TOOL-14).
    Text(String),
    Value(Value),
}

/// The schema of the arguments.
pub(super) struct Input {
    /// As it is published.
    pub(super) text: String,
    pub(super) rules: Rules,
    /// The default params that are in it.
    pub(super) common: Vec<CommonParam>,
    /// Those of them that are no fields of the type which the code reads.
    strips: Vec<Box<str>>,
    /// Whether the rules add the defaults of all that is absent.
    fills: bool,
}

impl Input {
    /// To go on with where what was given is no schema, and that was told.
    pub(super) fn nothing() -> Self {
        Self::of(schema::nothing().to_string(), Rules::nothing())
    }

    const fn of(text: String, rules: Rules) -> Self {
        Self { text, rules, common: Vec::new(), strips: Vec::new(), fills: false }
    }

    /// What is taken out of the arguments before the code reads them. `None` if nothing has to be.
    pub(super) fn taken(&self, types: &[CommonType], needs: &Needs) -> Option<Taken> {
        let wanted = needs.states.iter().any(|wanted| matches!(wanted, Wanted::Common { .. }));
        if !wanted && self.strips.is_empty() {
            return None;
        }
        let names: Vec<Box<str>> = self.common.iter().map(|param| param.name.clone()).collect();
        // A type adds its own.
        let untyped: Vec<CommonParam> = self.common.iter().filter(|param| param.group.of.is_none()).cloned().collect();
        let fills = (!self.fills && !untyped.is_empty()).then(|| {
            let compose::Composed { marked, checks, .. } = compose::alone(&untyped);
            // What is wrong with them was told of the module.
            Rules::compile(&marked, &checks, Options { defaults: true, ..Options::default() }).ok()
        });
        let types = Taken::types(types, &self.common);
        Some(Taken { names, types, strips: self.strips.clone(), fills: fills.flatten() })
    }
}

/// What the schema of the arguments is made of, beside what describes them.
pub(super) struct Making<'a> {
    /// Whether somebody else than the code looks at the arguments, who does not know what its type fills in.
    pub(super) shown: bool,
    /// What the code takes.
    pub(super) code: fn() -> Value,
    pub(super) coerce: bool,
    /// The default params that are not skipped.
    pub(super) common: Vec<CommonParam>,
    pub(super) home: &'a Home,
}

impl Making<'_> {
    /// From the types of the code.
    pub(super) fn derived(self, report: &mut Report<'_>) -> Input {
        let derived = schema::derive(self.code);
        if let Some(text) = root_fault(&derived.published, Side::Input, report) {
            return Input::of(text, Rules::nothing());
        }
        let all = !self.common.is_empty() && takes_all(self.code);
        let options = Options { coerce: self.coerce, defaults: all || self.shown, ..Options::default() };
        if self.common.is_empty() {
            let rules = rules(Rules::compile(&derived.marked, &derived.checks, options), report);
            return Input::of(derived.published.to_string(), rules);
        }
        self.composed(derived.marked, derived.checks, options, Vec::new(), report)
    }

    /// From parameters that were described one by one.
    pub(super) fn of_params(self, params: Vec<Param>, open: bool, report: &mut Report<'_>) -> Input {
        let param::Compiled { marked, checks, faults } = param::compile(params, open);
        let options = Options { coerce: self.coerce, defaults: true, whole: takes_all(self.code) };
        self.composed(marked, checks, options, faults, report)
    }

    /// From a schema that was given as data.
    pub(super) fn given(self, mut given: Given, report: &mut Report<'_>) -> Option<Input> {
        let options = Options { coerce: self.coerce, defaults: true, whole: takes_all(self.code) };
        let own = match self.common.is_empty() {
            true => None,
            // What is none is told below.
            false => given.value().filter(|schema| schema::root_fault(schema).is_none()),
        };
        let composed = own.map(|own| self.with_common(own, Vec::new(), report));
        if let Some(composed) = composed.as_ref().filter(|composed| !composed.common.is_empty()) {
            given = Given::Value(schema::unmarked(composed.marked.clone()));
        }
        let (text, value, validator) = given.compile(Side::Input, report)?;
        let compose::Composed { marked, checks, common } =
            composed.unwrap_or_else(|| compose::Composed { marked: value, checks: Vec::new(), common: Vec::new() });
        let strips = strips(self.code, &common);
        let options = Options { whole: options.whole || !common.is_empty(), ..options };
        // Without a validator the server is not built: why, is told.
        let rules =
            validator.map_or_else(Rules::nothing, |validator| Rules::given(&marked, &checks, validator, options));
        Some(Input { text, rules, common, strips, fills: true })
    }

    fn composed(
        self,
        own: Value,
        checks: Vec<Check>,
        options: Options,
        faults: Vec<String>,
        report: &mut Report<'_>,
    ) -> Input {
        let (code, fills) = (self.code, options.defaults);
        let compose::Composed { marked, checks, common } = self.with_common(own, checks, report);
        let options = Options { whole: options.whole || !common.is_empty(), ..options };
        let compiled = match Rules::compile(&marked, &checks, options) {
            Ok(rules) if faults.is_empty() => Ok(rules),
            Ok(_) => Err(faults),
            Err(more) => Err(faults.into_iter().chain(more).collect()),
        };
        let text = schema::unmarked(marked).to_string();
        let strips = strips(code, &common);
        Input { text, rules: rules(compiled, report), common, strips, fills }
    }

    fn with_common(&self, own: Value, checks: Vec<Check>, report: &mut Report<'_>) -> compose::Composed {
        compose::compose(own.clone(), checks.clone(), self.common.clone()).unwrap_or_else(|| {
            report.add(
                "TOOL-4",
                format!(
                    "its arguments are described by a reference (`$ref`), beside which the default params of {} have no \
                     place: describe them without one, or skip these with `{}`",
                    self.home.givers(),
                    self.home.skips()
                ),
            );
            compose::Composed { marked: own, checks, common: Vec::new() }
        })
    }
}

fn rules(compiled: Result<Rules, Vec<String>>, report: &mut Report<'_>) -> Rules {
    compiled.unwrap_or_else(|faults| {
        faults.into_iter().for_each(|fault| report.add("TOOL-4", fault));
        Rules::nothing()
    })
}

/// Whether the code takes any object: then it reads a `Value`, and may have the one that was checked.
fn takes_all(code: fn() -> Value) -> bool {
    let schema = schema::derive(code).published;
    schema == serde_json::json!({"type": "object"})
        || schema == serde_json::json!({"type": "object", "additionalProperties": true})
}

/// The default params that the code's type does not have itself. Code that takes any object finds them there.
fn strips(code: fn() -> Value, common: &[CommonParam]) -> Vec<Box<str>> {
    if common.is_empty() || takes_all(code) {
        return Vec::new();
    }
    let own = schema::derive(code).published;
    let is_own = |name: &str| own.as_object().is_some_and(|own| compose::declares(own, name));
    common.iter().filter(|param| !is_own(&param.name)).map(|param| param.name.clone()).collect()
}

/// An output schema that was said, and not derived from what the code returns.
pub(super) enum Promised {
    Data(Given),
    Type(fn() -> Option<Value>),
}

/// The schema of a structured result.
pub(super) struct Output {
    /// As it is published.
    pub(super) text: String,
    /// What enforces it, if its type does not.
    pub(super) promise: Option<Promise>,
}

impl Output {
    /// Of what the code returns: such a result keeps its promise by derivation.
    pub(super) fn derived(value: &Value, any: bool, report: &mut Report<'_>) -> Self {
        let fault = if any { None } else { root_fault(value, Side::Output, report) };
        Self { text: fault.unwrap_or_else(|| value.to_string()), promise: None }
    }

    /// `None` where there is nothing to promise, or what is wrong with it was told.
    pub(super) fn promised(promised: Promised, any: bool, report: &mut Report<'_>) -> Option<Self> {
        match promised {
            Promised::Data(given) => {
                let (text, _, validator) = given.compile(if any { Side::AnyOutput } else { Side::Output }, report)?;
                Some(Self { text, promise: validator.map(Promise::Data) })
            }
            Promised::Type(schema) => {
                let value = schema()?;
                let rules = rules(Rules::compile(&value, &[], Options::default()), report);
                Some(Self { promise: Some(Promise::Typed(rules)), ..Self::derived(&value, any, report) })
            }
        }
    }
}

/// What a result is held against (TOOL-11).
#[derive(Debug)]
pub(crate) enum Promise {
    Typed(Rules),
    Data(Validator),
    /// That it is structured, and no more.
    Structured,
}

impl Promise {
    /// In what a structured result breaks it: JSON text.
    pub(crate) fn violations(&self, result: &[u8]) -> Vec<Violation> {
        match self {
            Self::Typed(rules) => match rules.judge(result) {
                Judged::Broken(violations) => violations,
                Judged::AsSent | Judged::Changed(_) => Vec::new(),
            },
            Self::Data(validator) => match serde_json::from_slice(result) {
                Ok(value) => validator.violations(&value),
                Err(_) => vec![Violation { path: String::new(), fault: "is not JSON".into() }],
            },
            Self::Structured => Vec::new(),
        }
    }
}

/// Said here and not by the catalogue, which knows no types and would give other advice: a schema to go on with.
fn root_fault(value: &Value, side: Side, report: &mut Report<'_>) -> Option<String> {
    let why = schema::root_fault(value)?;
    let (whose, advice) = match side {
        Side::Input => ("its arguments'", "take a struct with named fields, a map, or nothing"),
        Side::Output | Side::AnyOutput => {
            ("its result's", "wrap the value in a struct, such as `struct Found { items: Vec<Item> }`")
        }
    };
    report.add(side.rule(), format!("the schema of {whose} type is not that of an object ({why}): {advice}"));
    Some(schema::nothing().to_string())
}

/// Which schema of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Input,
    Output,
    /// Of which nothing is asked but that it is a schema.
    AnyOutput,
}

impl Side {
    const fn rule(self) -> &'static str {
        match self {
            Self::Input => "TOOL-4",
            Self::Output | Self::AnyOutput => "TOOL-13",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Input => "input schema",
            Self::Output | Self::AnyOutput => "output schema",
        }
    }

    /// Whether the catalogue finds anything wrong with a schema at this side: it will say so itself.
    fn is_refused(self, schema: &str) -> bool {
        let nothing = schema::nothing().to_string();
        let trial = match self {
            Self::Input => catalog::Tool::new("trial", Handle(0), schema),
            Self::Output => catalog::Tool::new("trial", Handle(0), &nothing).with_output_schema(schema),
            Self::AnyOutput => {
                catalog::Tool::new("trial", Handle(0), &nothing).with_any_output().with_output_schema(schema)
            }
        };
        Catalog::builder().tool(trial).build().is_err()
    }
}

impl Given {
    /// Its value, if it is JSON.
    fn value(&self) -> Option<Value> {
        match self {
            Self::Value(schema) => Some(schema.clone()),
            Self::Text(text) => serde_json::from_str(text).ok(),
        }
    }

    fn compile(self, side: Side, report: &mut Report<'_>) -> Option<(String, Value, Option<Validator>)> {
        let (text, value) = match self {
            Self::Value(schema) => (schema.to_string(), schema),
            Self::Text(text) => match serde_json::from_str(&text) {
                Ok(schema) => (text, schema),
                Err(error) => {
                    report.add(side.rule(), format!("the {} given as text is not JSON: {error}", side.name()));
                    return None;
                }
            },
        };
        let validator = match Validator::compile(&value) {
            Ok(validator) => Some(validator),
            // What both find is told once.
            Err(_) if cfg!(feature = "validate") && side.is_refused(&text) => None,
            Err(found) => {
                found.into_iter().for_each(|why| report.add(side.rule(), format!("the {} {why}", side.name())));
                None
            }
        };
        Some((text, value, validator))
    }
}
