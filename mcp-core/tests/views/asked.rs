//! How often a rule is asked: of each entry of a list once, however the list is summed up.

use std::collections::BTreeSet;
use std::sync::Mutex;

use mcp_core::catalog::{Builder, Prompt, Resource, Template};
use mcp_core::{CacheHint, Caller, Scopes};

use super::*;

/// Of each kind an entry that may be kept for 5 ms, one for 100 ms, and one that asks for a scope.
fn catalog() -> Arc<Catalog> {
    let schema = r#"{"type":"object"}"#;
    let entries = |builder: Builder, name: &str, hint: CacheHint, scopes: &str| {
        let mut tool = Tool::new(name, Handle(1), schema).with_caching(hint);
        let mut resource = Resource::new(&format!("a:{name}"), name, Handle(2)).with_caching(hint);
        let mut template = Template::new(&format!("{name}:{{v}}"), name, Handle(3)).with_caching(hint);
        let mut prompt = Prompt::new(name, Handle(4)).with_caching(hint);
        if !scopes.is_empty() {
            (tool, resource) = (tool.with_scopes(scopes), resource.with_scopes(scopes));
            (template, prompt) = (template.with_scopes(scopes), prompt.with_scopes(scopes));
        }
        builder.tool(tool).resource(resource).template(template).prompt(prompt)
    };
    let builder = entries(Catalog::builder(), "short", CacheHint::ttl(Span(5)), "");
    let builder = entries(builder, "long", CacheHint::ttl(Span(100)), "");
    entries(builder, "scoped", CacheHint::ttl(Span(50)), "secret").build().unwrap()
}

/// Shows everything, or what is short now and then, and keeps of what it was asked.
#[derive(Debug, Default)]
struct Asked {
    keys: Mutex<Vec<String>>,
    fickle: bool,
}

impl Sight for Asked {
    fn shows(&self, item: Item<'_>, _: &Bytes) -> bool {
        let mut keys = self.keys.lock().unwrap();
        keys.push(item.key().to_owned());
        !self.fickle || !item.key().contains("short") || keys.len() % 2 == 1
    }
}

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("prompts/list", "prompts"),
];

fn endpoint() -> Arc<Endpoint> {
    fixture::builder().build().unwrap()
}

/// What comes of a list, and of what its rule was asked for it, of a caller with that principal.
fn ask<M: Machine>(
    mut script: Script<M>,
    message: &Value,
    fickle: bool,
    principal: Option<&str>,
) -> (Value, Vec<String>) {
    let sight = Arc::new(Asked { keys: Mutex::default(), fickle });
    script.view = View::by(catalog(), Arc::clone(&sight) as Arc<dyn Sight>);
    if let Some(principal) = principal {
        script.caller = Caller::new(principal, Scopes::default());
    }
    let result = script.send(message).one()["result"].clone();
    let keys = sight.keys.lock().unwrap().clone();
    (result, keys)
}

/// The same of each kind of machine, modern and legacy.
fn each(method: &str, fickle: bool, principal: Option<&str>) -> Vec<(Value, Vec<String>)> {
    let (modern, legacy) =
        (fixture::modern(9, method, &json!({}), &json!({})), fixture::request(9, method, &json!({})));
    let pipe = || Script::new(Pipe::new(MachineId(1), endpoint(), START));
    let mut old_pipe = pipe();
    old_pipe.open(Revision::V2025_11_25, &json!({}));
    let mut asked = vec![ask(pipe(), &modern, fickle, principal), ask(old_pipe, &legacy, fickle, principal)];
    if principal.is_some() {
        let exchange = Script::new(Exchange::new(MachineId(1), endpoint(), START));
        let mut session = Script::new(Session::new(MachineId(1), endpoint(), SessionId::new([7; 16]), START));
        session.caller = Caller::new("ann", Scopes::default());
        session.open(Revision::V2025_11_25, &json!({}));
        asked.extend([ask(exchange, &modern, fickle, principal), ask(session, &legacy, fickle, principal)]);
    }
    asked
}

#[test]
fn a_rule_is_asked_once_of_each_entry_of_the_list_that_is_written_and_of_no_other() {
    for (method, list) in LISTS {
        // Who can be told of scopes sees what asks for them; on a byte stream nobody without a principal is.
        for (principal, shown) in [(Some("ann"), 3), (None, 2)] {
            for (result, keys) in each(method, false, principal) {
                assert_eq!(result[list].as_array().unwrap().len(), shown, "{method} {principal:?}");
                assert_eq!(keys.len(), shown, "{method} {principal:?}: {keys:?}");
                assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), shown);
            }
        }
    }
}

#[test]
fn the_hint_is_of_the_items_that_are_listed_also_if_the_rule_changes_its_mind_cache_3() {
    for (method, list) in LISTS {
        for (result, _) in each(method, true, Some("ann")) {
            let items = result[list].as_array().unwrap();
            let has_short = items.iter().any(|item| item.to_string().contains("short"));
            if let Some(ttl) = result["ttlMs"].as_u64() {
                assert_eq!(ttl, if has_short { 5 } else { 50 }, "{result}");
            }
        }
    }
}
