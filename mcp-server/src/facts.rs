//! What resources, templates and prompts have in common: what is said of them, and how they are checked.

use std::panic::Location;
use std::sync::Arc;

use mcp_core::answer::Icon;
use mcp_core::catalog::Defect;
use mcp_core::fault::reflect;
use serde_json::{Map, Value};

use crate::check;
use crate::code::{Code, Entry, Work};
use crate::complete::Completer;
use crate::defaults::{merge, merge_meta};
use crate::extract::{Needs, States};
use crate::guard::Guards;
use crate::module::Home;
use crate::texts::Needed;
use crate::visible::Facing;

/// What is said of an entry, and where it was made.
pub(crate) struct Facts {
    /// Its name, URI or template.
    pub(crate) key: Box<str>,
    pub(crate) title: Option<Box<str>>,
    pub(crate) description: Option<Box<str>>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Value>,
    pub(crate) tags: Map<String, Value>,
    pub(crate) logs: bool,
    pub(crate) run: Option<Run>,
    pub(crate) completers: Vec<Completer>,
    pub(crate) guards: Guards,
    /// The module that it belongs to; `None`: the server itself.
    pub(crate) home: Option<Arc<Home>>,
    pub(crate) place: &'static Location<'static>,
    /// What was wrong with what it was told, by rule.
    pub(crate) wrong: Vec<(&'static str, Box<str>)>,
}

/// The code, and what it cannot do without.
pub(crate) struct Run {
    pub(crate) needs: Needs,
    pub(crate) code: Code,
    /// A variable or argument.
    pub(crate) needed: Option<Needed>,
}

impl Facts {
    #[track_caller]
    pub(crate) fn new(key: &str) -> Self {
        Self {
            key: key.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            meta: None,
            tags: Map::new(),
            logs: false,
            run: None,
            completers: Vec::new(),
            guards: Guards::default(),
            home: None,
            place: Location::caller(),
            wrong: Vec::new(),
        }
    }

    pub(crate) fn wants_logging(&self) -> bool {
        let completing = self.completers.iter().any(|completer| completer.needs.logging);
        self.logs
            || completing
            || self.guards.wraps.needs().logging
            || self.run.as_ref().is_some_and(|run| run.needs.logging)
    }

    /// One more completer. What was asked for goes before what is implied.
    pub(crate) fn complete(&mut self, completer: Completer) {
        let same = |other: &Completer| other.argument == completer.argument;
        if completer.implied && self.completers.iter().any(same) {
            return;
        }
        self.completers.retain(|other| !(other.implied && same(other)));
        self.completers.push(completer);
    }

    /// Adds what it has by default. Before anything else is looked at.
    pub(crate) fn inherit(&mut self, workshop: &Workshop<'_>) {
        let home = self.home.as_ref().unwrap_or(&workshop.states.own);
        let defaults = &home.defaults;
        merge(&mut self.tags, &defaults.tags);
        merge_meta(&mut self.meta, defaults.meta.as_ref());
        self.guards.add(&defaults.guards);
    }

    /// Its public `_meta` as the catalogue takes it.
    pub(crate) fn meta_text(&self) -> Option<String> {
        self.meta.as_ref().map(Value::to_string)
    }
}

/// Where entries are made ready: what they may rely on, and where their defects go.
pub(crate) struct Workshop<'a> {
    pub(crate) states: &'a Arc<States>,
    /// Whether arguments of tools are coerced, where no tool says otherwise.
    pub(crate) coerce: bool,
    pub(crate) defects: Vec<Defect>,
    /// The tools that link to a page, and to which.
    pub(crate) linked: Vec<(Box<str>, Box<str>)>,
}

/// An entry as it is called.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) entry: Arc<Entry>,
    /// What completes its arguments or variables, by name.
    pub(crate) completions: Arc<[(Box<str>, Arc<Entry>)]>,
    /// What is known of it to who decides who sees it.
    pub(crate) facing: Arc<Facing>,
    pub(crate) place: &'static Location<'static>,
    /// The module that it belongs to.
    pub(crate) home: Option<Arc<Home>>,
    /// Of a tool: whether it may be told of to who looks for one.
    pub(crate) findable: bool,
}

/// What the checks of one kind need to know.
pub(crate) struct Terms<'a> {
    /// The rule that says that it has code.
    pub(crate) rule: &'static str,
    /// The rule about its variables or arguments.
    pub(crate) texts_rule: &'static str,
    /// What they are called.
    pub(crate) texts: &'static str,
    /// Their names; `None` if they cannot be known.
    pub(crate) names: Option<Vec<&'a str>>,
    /// Those that may be missing.
    pub(crate) optional: Vec<&'a str>,
}

impl Workshop<'_> {
    pub(crate) fn add(&mut self, entry: &str, rule: &'static str, message: impl Into<Box<str>>) {
        self.defects.push(Defect { entry: reflect(entry).into(), rule, message: message.into() });
    }

    /// Checks what was said, and takes the code out: what is left goes to the catalogue.
    pub(crate) fn ready(&mut self, facts: &mut Facts, terms: &Terms<'_>, work: Work) -> Option<Parts> {
        let key = facts.key.clone();
        for (rule, message) in std::mem::take(&mut facts.wrong) {
            self.add(&key, rule, message);
        }
        if let Some((rule, message)) = facts.guards.conflict() {
            self.add(&key, rule, message);
        }
        if let Some(meta) = facts.meta.take_if(|meta| !meta.is_object()) {
            self.add(&key, "BASE-21", format!("its `_meta` must be a JSON object, not {}", check::kind(&meta)));
        }
        let facing = Facing::new(&facts.guards, &facts.tags, false);
        let completers = std::mem::take(&mut facts.completers);
        let around = facts.guards.wraps.needs();
        let needs = facts.run.iter().map(|run| &run.needs).chain(completers.iter().map(|completer| &completer.needs));
        let needs = needs.chain([&around]);
        let lacking: Vec<String> =
            needs.flat_map(|needs| &needs.states).filter_map(|wanted| self.states.lacks(wanted)).collect();
        for lacks in lacking {
            self.add(&key, terms.rule, lacks);
        }
        self.check_completers(&key, &completers, terms);
        let Some(run) = facts.run.take() else {
            self.add(&key, terms.rule, "it has no code: give it some with `.run(..)`");
            return None;
        };
        self.check_needed(&key, run.needed.as_ref(), terms);
        let wraps = self.states.wraps.around(&facts.guards.wraps);
        let named = |completer: Completer| completer.into_entry(&key, facts.tags.clone(), self.states, &wraps);
        let completions = completers.into_iter().map(named).collect();
        let entry = Entry {
            name: key,
            tags: std::mem::take(&mut facts.tags),
            states: Arc::clone(self.states),
            cancelling: run.needs.cancelling || wraps.needs().cancelling,
            wraps,
            code: run.code,
            work,
        };
        let (entry, home) = (Arc::new(entry), facts.home.clone());
        Some(Parts { entry, completions, facing, place: facts.place, home, findable: false })
    }

    fn check_completers(&mut self, key: &str, completers: &[Completer], terms: &Terms<'_>) {
        for (index, Completer { argument, .. }) in completers.iter().enumerate() {
            let known = terms.names.as_ref().filter(|names| !names.contains(&&**argument));
            if let Some(names) = known {
                let message = format!(
                    "`{}` is completed, but none of its {}: it has {}",
                    reflect(argument),
                    terms.texts,
                    listed(names)
                );
                self.add(key, "COMP-3", message);
            }
            if completers[..index].iter().any(|other| other.argument == *argument) {
                self.add(key, "COMP-3", format!("`{}` is completed twice: keep one of them", reflect(argument)));
            }
        }
    }

    /// Of all that the code reads only the first that is missing is known, but that it would fail is certain.
    fn check_needed(&mut self, key: &str, needed: Option<&Needed>, terms: &Terms<'_>) {
        let (Some(needed), Some(names)) = (needed, &terms.names) else { return };
        let (count, texts) = (names.len(), terms.texts);
        let needed = match needed {
            Needed::Named(name) => &**name,
            Needed::Places(places) if *places > count => {
                let message = format!("its code takes {places} {texts} by their places: it has {}", listed(names));
                return self.add(key, terms.texts_rule, message);
            }
            Needed::One if count != 1 => {
                let message = format!(
                    "its code takes a single value, which only one of its {texts} can be: it has {}; take them as a tuple or as \
                     a struct",
                    listed(names)
                );
                return self.add(key, terms.texts_rule, message);
            }
            Needed::Places(_) | Needed::One => return,
        };
        if !names.contains(&needed) {
            let needed = reflect(needed);
            let message = format!("its code needs `{needed}`, which is none of its {texts}: it has {}", listed(names));
            self.add(key, terms.texts_rule, message);
        } else if terms.optional.contains(&needed) {
            let message = format!(
                "its code cannot do without `{}`, which may be missing: declare it with `.required(..)`, or read an `Option`",
                reflect(needed)
            );
            self.add(key, terms.texts_rule, message);
        }
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".into(),
        names => names.iter().map(|name| format!("`{}`", reflect(name))).collect::<Vec<_>>().join(", "),
    }
}

/// The methods of a builder that say what it is; it has a field `facts`.
macro_rules! facts {
    ($what:literal) => {
        /// A name for people.
        pub fn title(mut self, title: impl AsRef<str>) -> Self {
            self.facts.title = Some(title.as_ref().into());
            self
        }

        /// What it is, for people and the model.
        pub fn description(mut self, description: impl AsRef<str>) -> Self {
            self.facts.description = Some(description.as_ref().into());
            self
        }

        /// One more icon: an [`Icon`](crate::Icon), or just the address of one, `https:`, `http:` or `data:` (BASE-28).
        pub fn icon(mut self, icon: impl $crate::into_icon::IntoIcon) -> Self {
            match icon.into_icon() {
                Ok(icon) => self.facts.icons.push(icon),
                Err(fault) => self.facts.wrong.push(("BASE-28", fault.message().into())),
            }
            self
        }

        #[doc = concat!("Its `_meta` in the list, which clients see: a JSON object. For what they must not see there are [tags](", $what, "::tag).")]
        pub fn meta(mut self, meta: serde_json::Value) -> Self {
            self.facts.meta = Some(meta);
            self
        }

        /// A private word about it, for the server's own code: [`Ctx::tags`](crate::Ctx::tags) has them. Never sent.
        pub fn tag(mut self, name: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
            self.facts.tags.insert(name.into(), value.into());
            self
        }

        /// Says that it logs to the client: the server then offers the `logging` capability. Code that takes
        /// [`Log`](crate::Log) says so by itself.
        pub fn logs(mut self) -> Self {
            self.facts.logs = true;
            self
        }

        $crate::guard::guards!(facts.guards, facts.wrong);

        /// The same in a module.
        pub(crate) fn at_home(mut self, home: &std::sync::Arc<$crate::module::Home>) -> Self {
            self.facts.home = Some(std::sync::Arc::clone(home));
            self
        }

        pub(crate) fn facts(&self) -> &$crate::facts::Facts {
            &self.facts
        }
    };
}

/// The methods of a builder that complete its texts; it has a field `facts`.
macro_rules! completes {
    ($what:literal, $names:literal) => {
        #[doc = concat!("Proposes values for one of its ", $names, " while somebody types it (COMP-1): see [`CompleteFn`](crate::CompleteFn).")]
        ///
        #[doc = concat!("One that it does not have is told when the server is built. Without it, the ", $what, " proposes nothing.")]
        pub fn complete<F, M>(mut self, name: impl AsRef<str>, code: F) -> Self
        where
            F: $crate::code::CompleteFn<M>,
        {
            self.facts.complete($crate::complete::Completer::new(name.as_ref(), code));
            self
        }

        /// The same from a list: those that begin with what was typed, in either case.
        pub fn complete_from<T: Into<String>>(
            mut self,
            name: impl AsRef<str>,
            values: impl IntoIterator<Item = T>,
        ) -> Self {
            self.facts.complete($crate::complete::Completer::of_list(name.as_ref(), values));
            self
        }
    };
}

/// Writes what was said into an entry of the catalogue.
macro_rules! told {
    ($facts:expr, $shown:expr) => {{
        let facts = $facts;
        let mut shown = $crate::guard::guarded!(facts.guards, $shown);
        if let Some(title) = &facts.title {
            shown = shown.with_title(title);
        }
        if let Some(description) = &facts.description {
            shown = shown.with_description(description);
        }
        if let Some(meta) = facts.meta_text() {
            shown = shown.with_meta(&meta);
        }
        for icon in std::mem::take(&mut facts.icons) {
            shown = shown.with_icon(icon);
        }
        shown
    }};
}

pub(crate) use {completes, facts, told};
