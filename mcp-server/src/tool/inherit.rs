//! What a tool has of its module.

use std::any::TypeId;
use std::sync::Arc;

use mcp_core::fault::reflect;

use super::{Report, Tool};
use crate::check::nearest;
use crate::common::takes_any;
use crate::defaults::{CommonParam, Defaults, merge, merge_annotations, merge_meta};
use crate::module::Home;

impl Tool {
    /// The same in a module.
    pub(crate) fn at_home(mut self, home: &Arc<Home>) -> Self {
        self.home = Some(Arc::clone(home));
        self
    }

    /// The same in a manifest with those defaults.
    pub(crate) fn sharing(mut self, defaults: &Arc<Defaults>) -> Self {
        self.shared = Some(Arc::clone(defaults));
        self
    }

    /// What it has by default, in that module: of its manifest, too.
    pub(super) fn home_in(&mut self, module: &Arc<Home>) -> Arc<Home> {
        match self.shared.take() {
            Some(shared) => module.with_manifest(&shared),
            None => Arc::clone(module),
        }
    }

    pub(crate) fn home(&self) -> Option<&Home> {
        self.home.as_deref()
    }

    /// Adds what it has by default, and tells which default params it does not skip.
    pub(super) fn inherit(&mut self, home: &Home, report: &mut Report<'_>) -> Vec<CommonParam> {
        let defaults = &home.defaults;
        merge(&mut self.tags, &defaults.tags);
        merge_meta(&mut self.meta, defaults.meta.as_ref());
        if defaults.are_sensitive() {
            self.sensitive = Some(true);
        }
        merge_annotations(&mut self.annotations, &defaults.annotations);
        self.guards.add(&defaults.guards);
        if let Some((rule, what)) = self.guards.conflict() {
            report.add(rule, what);
        }
        if !defaults.unfit {
            self.check_skipped(home, report);
        }
        defaults.params.iter().filter(|param| !self.skipped.contains(&param.name)).cloned().collect()
    }

    fn check_skipped(&self, home: &Home, report: &mut Report<'_>) {
        let names = || home.defaults.params.iter().map(|param| &*param.name);
        let (none, has) = home.has_none();
        for skipped in self.skipped.iter().filter(|skipped| names().all(|name| name != &***skipped)) {
            let known = match nearest(skipped, names()) {
                Some(meant) => format!("did you mean `{}`?", reflect(meant)),
                None if names().next().is_none() => {
                    "only default params can be skipped, of a module or of `defaults`, so leave it out".into()
                }
                None => {
                    let all: Vec<String> = names().map(|name| format!("`{}`", reflect(name))).collect();
                    format!("{has} {}", all.join(", "))
                }
            };
            // Of a definition it is told already.
            let made = match self.defined {
                true => String::new(),
                false => format!(" (made at {})", self.place),
            };
            report
                .add("TOOL-4", format!("it skips the default param `{}`{made}, and {none}: {known}", reflect(skipped)));
        }
    }
}

/// What is wrong if its code takes the default params as that type: a clause, and what to do.
pub(super) fn lacks(home: &Home, common: &[CommonParam], id: TypeId, name: &str) -> Option<String> {
    if home.defaults.unfit {
        return None;
    }
    let noun = home.noun();
    if takes_any(id) {
        let is_moot = home.defaults.params.is_empty();
        return is_moot.then(|| {
            format!(
                "its code takes `Common<{name}>`, and {noun} has no default params: give it some with `.{}(..)`, or take no \
                 `Common`",
                home.giver()
            )
        });
    }
    let Some(known) = home.defaults.types.iter().find(|known| known.id == id) else {
        return Some(format!(
            "its code takes `Common<{name}>`, and {noun} does not give it: give it to the module with \
             `.arguments::<{name}>()`, or as `#[tools(params = ..)]`"
        ));
    };
    let is_there = |name: &str| common.iter().any(|param| *param.name == *name && param.group.of == Some(id));
    let missing = known.required.iter().find(|name| !is_there(name))?;
    Some(format!(
        "its code takes `Common<{name}>`, which cannot do without `{missing}` of {noun}, and the tool skips that or has one of \
         its own: leave either out"
    ))
}
