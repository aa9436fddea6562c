//! The two halves of a tool: what the catalogue shows of it, and what runs; or everything that is wrong with it.

use std::sync::Arc;

use mcp_core::catalog::{self, Defect, Handle};
use mcp_core::fault::reflect;
use serde_json::Value;

use super::schemas::{Input, Making, Output, Promise};
use super::{Origin, Run, Tool, inherit};
use crate::authorize::{Authorizer, Guarding};
use crate::check;
use crate::code::{Entry, Place, Work};
use crate::defaults::CommonParam;
use crate::extract::Wanted;
use crate::facts::{Parts, Workshop};
use crate::focus::Focus;
use crate::guard::guarded;
use crate::module::Home;
use crate::ui::{self, Pageless};
use crate::visible::Facing;

impl Tool {
    /// Its two halves: what the catalogue shows, and what runs. `None` if they cannot be had, and then there are defects.
    pub(crate) fn split(mut self, handle: Handle, workshop: &mut Workshop<'_>) -> Option<(catalog::Tool, Parts)> {
        let before = workshop.defects.len();
        match self.origin.take() {
            None => self.divide(handle, workshop),
            Some(Origin::At(place)) => {
                let halves = self.divide(handle, workshop);
                for defect in &mut workshop.defects[before..] {
                    defect.message = format!("{place}: {}", defect.message).into();
                }
                halves
            }
            Some(Origin::Faults(defects)) => {
                workshop.defects.extend(defects);
                None
            }
        }
    }

    fn check_described(&self, report: &mut Report<'_>) {
        if self.description.as_deref().unwrap_or_default().trim().is_empty() {
            let how = match self.defined {
                true => "give its definition a `description`",
                false => "give it one with `.description(..)`, or as the doc comment of a function with `#[tool]`",
            };
            report.add("TOOL-3", format!("it has no description, and a model would have to guess: {how}"));
        }
    }

    fn divide(mut self, handle: Handle, workshop: &mut Workshop<'_>) -> Option<(catalog::Tool, Parts)> {
        let Workshop { states, coerce, ref mut defects, ref mut linked } = *workshop;
        let unnamed = self.name.is_empty();
        if unnamed {
            // What else is wrong with it is told of an entry that can be found.
            self.name = format!("unnamed-{}", handle.0 & 0xFFFF_FFFF).into();
        }
        let name = self.name.clone();
        let mut report = Report { tool: &name, defects };
        let place = self.place;
        let module = self.home.take();
        let home = self.home_in(module.as_ref().unwrap_or(&states.own));
        if let Some(why) = self.unreadable {
            report.add("TOOL-3", format!("the tool made at {place} cannot be read: {why}"));
            return None;
        }
        let is_misnamed = self.wrong.iter().any(|(rule, _)| *rule == "TOOL-5");
        if unnamed && !is_misnamed {
            let how = match self.defined {
                true => "give its definition a `name`",
                false => "give it one, as in `Tool::new(\"search\")`",
            };
            report.add("TOOL-5", format!("the tool made at {place} has no name: {how}"));
        }
        self.wrong.drain(..).for_each(|(rule, message)| report.add(rule, message));
        let common = self.inherit(&home, &mut report);
        self.check_described(&mut report);
        if let Some(page) = self.page.take() {
            match page.link(&mut self.meta) {
                Ok(uri) => linked.push((name.clone(), uri)),
                Err(why) => report.add("APP-3", why),
            }
        }
        if let Some(meta) = self.meta.take_if(|meta| !meta.is_object()) {
            report.add("BASE-21", format!("its `_meta` must be a JSON object, not {}", check::kind(&meta)));
        }
        let run = self.run.take().unwrap_or_else(|| {
            report.add("TOOL-6", "it has no code: give it some with `.run(..)`");
            // So that the rest of it is looked at as well.
            Run::new(|| (), Place::Here)
        });
        let input = self.input(run.input, coerce, common, &home, &mut report);
        // What its code lacks of arguments that cannot be had is not known.
        let is_known = input.is_some();
        let input = input.unwrap_or_else(Input::nothing);
        let around = self.guards.wraps.needs();
        let lacking = run.needs.states.iter().filter_map(|wanted| match wanted {
            Wanted::Common { .. } if !is_known => None,
            Wanted::Common { id, name } => inherit::lacks(&home, &input.common, *id, name),
            wanted => states.lacks(wanted),
        });
        // What runs around the code does so before the arguments are looked at.
        let lacking = lacking.chain(around.states.iter().filter_map(|wanted| states.lacks(wanted)));
        lacking.for_each(|lacking| report.add("TOOL-6", lacking));
        let taken = input.taken(&home.defaults.types, &run.needs).map(Box::new);
        let output = match self.output.take() {
            Some(promised) => Output::promised(promised, self.any_output, &mut report),
            None => (run.output)().map(|schema| Output::derived(&schema, self.any_output, &mut report)),
        };
        let authorizer = self.authorizer(&states.guarding, &mut report);
        let facing = Facing::new(&self.guards, &self.tags, self.is_sensitive());
        let tags = std::mem::take(&mut self.tags);
        let own_wraps = std::mem::take(&mut self.guards.wraps);
        let unchecked = self.unchecked_output;
        let findable = self.focused(states.focus.as_ref());
        let shown = self.shown(handle, &input.text, output.as_ref().map(|output| &*output.text));
        let promise = output.and_then(|output| output.promise);
        let promise = promise.map(|promise| if unchecked { Promise::Structured } else { promise });
        let wraps = states.wraps.around(&own_wraps);
        let entry = Entry {
            name,
            tags,
            states: Arc::clone(states),
            // An approval is known to all that runs of the call.
            cancelling: run.needs.cancelling || wraps.needs().cancelling || authorizer.is_some(),
            wraps,
            code: run.code,
            work: Work::Tool { rules: input.rules, promise, taken, authorizer },
        };
        let (entry, completions) = (Arc::new(entry), Arc::default());
        Some((shown, Parts { entry, completions, facing, place, home: module, findable }))
    }

    /// Takes it out of the lists if the focus does not name it. Returns whether it may be told of to who looks for one.
    fn focused(&mut self, focus: Option<&Focus>) -> bool {
        let Some(focus) = focus else { return false };
        let for_page = self.meta.as_ref().is_some_and(|meta| matches!(ui::where_no_pages_are(meta), Pageless::Nothing));
        let findable = !self.unlisted && !for_page && !focus.is_own(&self.name);
        self.unlisted |= !focus.lists(&self.name);
        findable
    }

    /// What says who may call it, if anything does.
    fn authorizer(&self, guarding: &Guarding, report: &mut Report<'_>) -> Option<Authorizer> {
        if !self.is_sensitive() {
            return None;
        }
        guarding.around(&self.name).unwrap_or_else(|why| {
            report.add("TOOL-17", why);
            None
        })
    }

    fn input(
        &mut self,
        derived: fn() -> Value,
        coerce: bool,
        common: Vec<CommonParam>,
        home: &Home,
        report: &mut Report<'_>,
    ) -> Option<Input> {
        let shown = self.is_sensitive();
        let making = Making { shown, code: derived, coerce: self.coerce.unwrap_or(coerce), common, home };
        let params = std::mem::take(&mut self.params);
        let by_params = !params.is_empty();
        if self.open && !by_params {
            report.add(
                "TOOL-4",
                "`.open()` lets arguments through beside those of `.param(..)`, and there are none: leave it out",
            );
        }
        match self.input.take() {
            Some(_) if by_params => {
                report.add("TOOL-4", "its arguments are described twice, by params and by a schema: keep one of them");
                None
            }
            Some(given) => making.given(given, report),
            None if by_params => Some(making.of_params(params, self.open, report)),
            None => Some(making.derived(report)),
        }
    }

    fn shown(self, handle: Handle, input: &str, output: Option<&str>) -> catalog::Tool {
        let mut tool =
            catalog::Tool::new(&self.name, handle, input).with_annotations(self.annotations).with_needs(self.needs);
        if let Some(title) = &self.title {
            tool = tool.with_title(title);
        }
        if let Some(description) = &self.description {
            tool = tool.with_description(description);
        }
        if let Some(output) = output {
            tool = tool.with_output_schema(output);
        }
        if self.any_output {
            tool = tool.with_any_output();
        }
        if self.unlisted {
            tool = tool.with_unlisted();
        }
        if let Some(meta) = &self.meta {
            tool = tool.with_meta(&meta.to_string());
            tool = match ui::where_no_pages_are(meta) {
                Pageless::Same => tool,
                Pageless::Unlinked(meta) => tool.with_pageless_meta(meta.map(|meta| meta.to_string()).as_deref()),
                Pageless::Nothing => tool.for_page(),
            };
        }
        let tool = guarded!(self.guards, tool).with_task_support(self.task_support);
        self.icons.into_iter().fold(tool, catalog::Tool::with_icon)
    }
}

/// Where the defects of one tool go.
pub(super) struct Report<'a> {
    tool: &'a str,
    defects: &'a mut Vec<Defect>,
}

impl Report<'_> {
    pub(super) fn add(&mut self, rule: &'static str, message: impl Into<Box<str>>) {
        self.defects.push(Defect { entry: reflect(self.tool).into(), rule, message: message.into() });
    }
}
