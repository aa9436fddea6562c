//! Whatever happens on a byte stream, each of its listeners is told as a model of one page says: acknowledgement first, what it
//! asked for alone, each piece of news once while nobody reads, and nothing after its end.

use mcp_core::Pipe;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::{prop_assert_eq, prop_oneof, proptest};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    /// By which id, and what for: a bit for each list, for two resources, and for a third.
    Listen(usize, u8),
    Cancel(usize),
    Changed(usize),
    /// A resource, and whether whoever asked may still see it all.
    Updated(usize, bool),
    /// The peer reads all that there is.
    Read,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4_usize, 0..32_u8).prop_map(|(id, asked)| Step::Listen(id, asked)),
        2 => (0..4_usize).prop_map(Step::Cancel),
        4 => (0..3_usize).prop_map(Step::Changed),
        4 => (0..3_usize, any::<bool>()).prop_map(|(uri, sees)| Step::Updated(uri, sees)),
        2 => Just(Step::Read),
    ]
}

const URIS: [&str; 3] = ["doc://a", "user://7", "doc://b"];

fn id(index: usize) -> Value {
    [json!(1), json!("1"), json!(2), json!("x")][index].clone()
}

/// One listener.
struct Model {
    id: Value,
    asked: u8,
    /// What it was not told yet.
    waits: Vec<Value>,
}

impl Model {
    fn tell(&mut self, bit: u8, news: Value) {
        if self.asked & bit != 0 && !self.waits.contains(&news) {
            self.waits.push(news);
        }
    }
}

fn notifications(asked: u8) -> Value {
    let mut wanted = json!({});
    for (bit, list) in [(1, "toolsListChanged"), (2, "promptsListChanged"), (4, "resourcesListChanged")] {
        if asked & bit != 0 {
            wanted[list] = true.into();
        }
    }
    // In order, as they are acknowledged.
    let uris: Vec<&str> = match asked & 24 {
        0 => return wanted,
        8 => vec!["doc://a", "user://7"],
        16 => vec!["doc://b"],
        _ => vec!["doc://a", "doc://b", "user://7"],
    };
    wanted["resourceSubscriptions"] = json!(uris);
    wanted
}

/// The messages for a listener: those that carry its id.
fn of<'a>(all: &'a [Value], id: &Value) -> Vec<&'a Value> {
    let tag = |message: &'a Value| match message.get("result") {
        Some(result) => &result["_meta"][ID],
        None => &message["params"]["_meta"][ID],
    };
    all.iter().filter(|message| tag(message) == id).collect()
}

fn check(models: &mut [Model], all: &[Value], refused: &mut usize) {
    let mut expected = *refused;
    for model in models {
        let waits = std::mem::take(&mut model.waits);
        assert_eq!(of(all, &model.id), waits.iter().collect::<Vec<_>>(), "{}", model.id);
        expected += waits.len();
    }
    assert_eq!(all.iter().filter(|message| message.get("error").is_some()).count(), *refused);
    assert_eq!(all.len(), expected, "and nothing else: {all:?}");
    *refused = 0;
}

proptest! {
    #[test]
    fn listeners_hear_what_a_model_says_sub_2_sub_3_sub_4_sub_7_sub_9_sub_10_sub_11_sub_13_sub_14(
        steps in vec(step(), 0..40),
        end in 0..3_usize,
    ) {
        let mut policy = Policy::default();
        policy.limits.listens = 3;
        let endpoint = builder().policy(policy).build().unwrap();
        let fresh = move || Pipe::new(MachineId(1), Arc::clone(&endpoint), Time(1_000_000));
        let mut script = Script::replaying_with(fresh, vec![catalog()]);
        script.view = view();
        script.hold(true);
        let (mut models, mut refused) = (Vec::<Model>::new(), 0);
        for step in steps {
            match step {
                Step::Listen(index, asked) => {
                    script.send(&listen(id(index), notifications(asked)));
                    if models.len() == 3 || models.iter().any(|model| model.id == id(index)) {
                        refused += 1;
                    } else {
                        let waits = vec![acknowledged(id(index), notifications(asked))];
                        models.push(Model { id: id(index), asked, waits });
                    }
                }
                Step::Cancel(index) => {
                    let params = json!({"requestId": id(index)});
                    script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
                    models.retain(|model| model.id != id(index));
                }
                Step::Changed(index) => {
                    change(&mut script, Change::ALL[index]);
                    let (bit, method) = match Change::ALL[index] {
                        Change::Tools => (1, TOOLS),
                        Change::Prompts => (2, PROMPTS),
                        _ => (4, RESOURCES),
                    };
                    models.iter_mut().for_each(|model| model.tell(bit, told(model.id.clone(), method)));
                }
                Step::Updated(index, sees) => {
                    let (uri, view) = (URIS[index], if sees { view() } else { narrow() });
                    script.input(Input::Updated { uri, view: &view });
                    let bit = [8, 8, 16][index];
                    if sees || uri != "doc://b" {
                        models.iter_mut().for_each(|model| model.tell(bit, told_of(model.id.clone(), uri)));
                    }
                }
                Step::Read => {
                    script.hold(false);
                    check(&mut models, &script.received().messages, &mut refused);
                    script.hold(true);
                }
            }
        }
        let why = [Close::EndOfInput, Close::Shutdown, Close::Peer][end];
        script.close(why);
        if why != Close::Peer {
            models.iter_mut().for_each(|model| model.waits.push(result(model.id.clone())));
        }
        script.hold(false);
        let sent = script.received();
        check(&mut models, &sent.messages, &mut refused);
        prop_assert_eq!((script.closed, sent.ended), (true, true));
    }
}
