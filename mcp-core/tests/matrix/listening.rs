//! The rows about those who listen: 22, and their part of 23 and 26.

use mcp_core::{Change, Close};

use super::*;

const TAG: &str = "io.modelcontextprotocol/subscriptionId";

fn listen(id: impl Into<Value>) -> Value {
    let params = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": false}});
    fixture::modern(id, "subscriptions/listen", &params, &json!({}))
}

fn change(script: &mut Script<impl mcp_core::Machine>) {
    for what in Change::ALL {
        script.input(Input::Changed { catalog: fixture::catalog(), what });
    }
}

/// The method of each message, with the tag that it carries.
fn told(sent: &Sent) -> Vec<(&str, &Value)> {
    sent.messages
        .iter()
        .map(|message| match message["method"].as_str() {
            Some(method) => (method, &message["params"]["_meta"][TAG]),
            None => ("result", &message["result"]["_meta"][TAG]),
        })
        .collect()
}

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const TOOLS: &str = "notifications/tools/list_changed";

#[test]
fn row_22_listening_is_acknowledged_first_and_tagged_in_the_type_of_its_id_sub_2_sub_3_sub_4_case_119() {
    for id in [json!(1), json!("s")] {
        let mut site = http();
        let sent = site.modern(&listen(id.clone()));
        assert_eq!(told(&sent), [(ACKNOWLEDGED, &id)]);
        assert_eq!(sent.reply.clone(), Some(Reply::EVENTS));
        assert!(!sent.text.contains("id: ") && sent.text.starts_with("data: {"), "{}", sent.text);
        let mut exchange = site.exchange.take().expect("it listens");
        let mut line = stdio();
        assert_eq!(told(&line.send(&listen(id.clone()))), [(ACKNOWLEDGED, &id)]);
        change(&mut exchange);
        change(&mut line);
        exchange.close(Close::Shutdown);
        line.close(Close::Shutdown);
        for sent in [exchange.received(), line.received()] {
            assert_eq!(told(&sent), [(TOOLS, &id), ("result", &id)]);
        }
    }
}

#[test]
fn row_23_a_cancelled_listener_is_silent_canc_2_sub_10() {
    let mut line = stdio();
    line.send(&listen(1));
    line.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    change(&mut line);
    line.close(Close::EndOfInput);
    assert_eq!(line.received().text, "");
}

#[test]
fn row_26_two_clients_that_listen_with_the_same_id_base_4() {
    let mut site = http();
    let mut listening = || {
        site.modern(&listen(1));
        site.exchange.take().expect("it listens")
    };
    let (mut one, mut two) = (listening(), listening());
    change(&mut one);
    assert_eq!((told(&one.received()), two.received().text.as_str()), (vec![(TOOLS, &json!(1))], ""));
    one.input(Input::Detach { stream: StreamId::ONLY });
    change(&mut two);
    assert_eq!((told(&two.received()), one.received().text.as_str()), (vec![(TOOLS, &json!(1))], ""));
}
