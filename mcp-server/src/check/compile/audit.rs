//! Mistakes in a schema that each keyword alone does not show.

use serde_json::{Map, Value};

use super::{ARRAY, Compiler, NUMBER, OBJECT, STRING};
use crate::check::node::{Id, Kinds, More, Node, Rule, Tree};

impl Compiler<'_> {
    /// What a rule lets in, as far as kinds tell.
    pub(super) fn let_in(&self, rule: &Rule) -> Kinds {
        let of_values = |values: &[Value]| values.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or);
        let listed = rule.allowed.iter().map(|values| of_values(values));
        let more = rule.more.iter().map(|more| match more {
            More::All(id) => self.kinds[*id],
            More::Union(union) => union.forms.iter().map(|form| self.kinds[*form]).fold(Kinds::NONE, Kinds::or),
            More::Not(_) | More::If { .. } => Kinds::ALL,
        });
        listed.chain(more).fold(rule.kinds, Kinds::and)
    }

    /// A rule for values that cannot be there is a mistake: nothing would ever break it.
    pub(super) fn misplaced(&mut self, map: &Map<String, Value>, kinds: Kinds) {
        if kinds == Kinds::NONE {
            return self.fault("its rules contradict one another, so that nothing fits");
        }
        for (keys, of, whose) in FAMILIES {
            for key in keys.iter().filter(|key| map.contains_key(**key) && !kinds.meets(of)) {
                self.fault(format!(
                    "`{key}` is a rule for {whose}, and this can only be {}: leave it out, or change the type",
                    kinds.words()
                ));
            }
        }
    }
}

const FAMILIES: [(&[&str], Kinds, &str); 4] = [
    (STRING, Kinds::STRING, "strings"),
    (NUMBER, Kinds::NUMBER, "numbers"),
    (ARRAY, Kinds::ARRAY, "arrays"),
    (OBJECT, Kinds::OBJECT, "objects"),
];

/// Whether a schema asks itself for the very value that it is asked for.
pub(super) fn has_circle(tree: &Tree) -> bool {
    let mut done = vec![false; tree.nodes.len()];
    let mut under_way = vec![false; tree.nodes.len()];
    for start in 0..tree.nodes.len() {
        // Where each step on the way is, and what it has still to ask.
        let mut way: Vec<(Id, Vec<Id>)> = Vec::new();
        let mut next = Some(start);
        loop {
            match next.take() {
                Some(id) if under_way[id] => return true,
                Some(id) if !done[id] => {
                    under_way[id] = true;
                    way.push((id, asks(&tree.nodes[id])));
                }
                _ => {}
            }
            let Some((id, asked)) = way.last_mut() else { break };
            next = asked.pop();
            if next.is_none() {
                under_way[*id] = false;
                done[*id] = true;
                way.pop();
            }
        }
    }
    false
}

/// The nodes that look at the same value.
fn asks(node: &Node) -> Vec<Id> {
    match node {
        Node::Any | Node::Never => Vec::new(),
        Node::Same(id) => vec![*id],
        Node::Rule(rule) => {
            let more = rule.more.iter().flat_map(|more| match more {
                More::All(id) | More::Not(id) => vec![*id],
                More::Union(union) => union.forms.to_vec(),
                More::If { condition, then, otherwise } => {
                    [Some(*condition), *then, *otherwise].into_iter().flatten().collect()
                }
            });
            let dependent = rule.object.iter().flat_map(|object| object.dependent_schemas.iter().map(|(_, id)| *id));
            more.chain(dependent).collect()
        }
    }
}
