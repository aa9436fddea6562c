//! Of two faults at once the earlier one is told, in the order of VER-20.

use super::*;

/// A request and its headers, as yet without fault.
#[derive(Clone)]
struct Draft {
    message: Value,
    version: &'static str,
    method: Option<&'static str>,
    name: &'static str,
    region: &'static str,
    cut: bool,
}

/// One step of the check order.
struct Check {
    name: &'static str,
    break_it: fn(&mut Draft),
    /// Status and code.
    verdict: (u16, i64),
    /// What the message must name, where two steps have one code.
    words: &'static str,
    /// Whether a byte stream has that step.
    everywhere: bool,
}

const fn check(name: &'static str, break_it: fn(&mut Draft), verdict: (u16, i64), words: &'static str) -> Check {
    Check { name, break_it, verdict, words, everywhere: true }
}

const fn header(name: &'static str, break_it: fn(&mut Draft), words: &'static str) -> Check {
    Check { name, break_it, verdict: (400, -32020), words, everywhere: false }
}

const CHECKS: [Check; 13] = [
    check("JSON", |draft| draft.cut = true, (400, -32700), ""),
    check("envelope", |draft| draft.message["jsonrpc"] = json!("1.0"), (400, -32600), "jsonrpc"),
    check("meta-version", |draft| *meta(draft, "protocolVersion") = json!(7), (400, -32602), "protocolVersion"),
    header("version header", |draft| draft.version = "2025-11-25", "MCP-Protocol-Version"),
    check("version served", unserved, (400, -32022), ""),
    check("capabilities", |draft| *meta(draft, "clientCapabilities") = json!([]), (400, -32602), "clientCapabilities"),
    header("Mcp-Method", |draft| draft.method = Some("nope"), "Mcp-Method"),
    header("Mcp-Name", |draft| draft.name = "nope", "Mcp-Name"),
    check("method known", |draft| draft.message["method"] = json!("prompts/get"), (404, -32601), ""),
    check("client capability", |draft| *meta(draft, "clientCapabilities") = json!({}), (400, -32021), ""),
    check("parameters", |draft| draft.message["params"]["arguments"] = json!([]), (200, -32602), "arguments"),
    check("state", |draft| draft.message["params"]["requestState"] = json!("forged"), (200, -32602), "requestState"),
    header("Mcp-Param", |draft| draft.region = "nope", "Mcp-Param-Region"),
];

fn meta<'a>(draft: &'a mut Draft, key: &str) -> &'a mut Value {
    &mut draft.message["params"]["_meta"][format!("io.modelcontextprotocol/{key}")]
}

fn unserved(draft: &mut Draft) {
    *meta(draft, "protocolVersion") = json!("v999");
    draft.version = "v999";
}

fn right() -> Draft {
    let params = json!({"arguments": {"region": "eu"}});
    Draft {
        message: call("both", &params, &json!({"sampling": {}})),
        version: "2026-07-28",
        method: None,
        name: "both",
        region: "eu",
        cut: false,
    }
}

/// A tool with every check.
fn view() -> View {
    let schema = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;
    let tool = Tool::new("both", Handle(1), schema).with_needs(Capabilities::none().with(Ability::Sampling));
    View::all(Catalog::builder().tool(tool).build().unwrap())
}

/// A server of tools alone.
fn endpoint() -> Arc<Endpoint> {
    let who = mcp_core::answer::Implementation::new("tools", "1");
    Endpoint::builder(who).tools(true).seal(Arc::new(fixture::Xor)).build().unwrap()
}

impl Draft {
    fn body(&self) -> String {
        let text = self.message.to_string();
        if self.cut { text[..text.len() - 1].to_owned() } else { text }
    }

    fn headers(&self) -> Vec<(&str, &[u8])> {
        let method = self.method.or(self.message["method"].as_str()).unwrap_or_default();
        [
            ("mcp-protocol-version", self.version.as_bytes()),
            ("mcp-method", method.as_bytes()),
            ("mcp-name", self.name.as_bytes()),
            ("mcp-param-region", self.region.as_bytes()),
        ]
        .into()
    }

    fn over_http(&self) -> Sent {
        let mut site = Site::new(endpoint());
        site.view = view();
        let sent = site.post_bytes(self.body().as_bytes(), &self.headers());
        assert!(site.exchange.is_none_or(|exchange| exchange.calls.is_empty()));
        sent
    }

    fn over_a_pipe(&self) -> Sent {
        let mut script = Script::new(Pipe::new(MachineId(1), endpoint(), Time(0)));
        script.view = view();
        script.send_bytes(self.body().into(), None)
    }
}

fn told(sent: &Sent, check: &Check, beside: &str) {
    let error = &sent.one()["error"];
    let names = format!("{} beside {beside}: {error}", check.name);
    assert_eq!(error["code"], check.verdict.1, "{names}");
    assert!(error["message"].as_str().unwrap().contains(check.words), "{names}");
    let id = if check.name == "JSON" { None } else { Some(&json!(1)) };
    assert_eq!(sent.one().get("id"), id, "{names}");
}

#[test]
fn a_request_without_fault_runs() {
    let sent = right().over_http();
    assert_eq!((sent.status(), sent.code()), (200, 0), "{}", sent.text);
}

#[test]
fn each_fault_alone_is_told_ver_20() {
    for check in &CHECKS {
        let mut draft = right();
        (check.break_it)(&mut draft);
        let sent = draft.over_http();
        told(&sent, check, "nothing");
        assert_eq!(sent.status(), check.verdict.0, "{}", check.name);
    }
}

#[test]
fn of_two_faults_the_earlier_wins_ver_20() {
    let mut pairs = 0;
    for (n, later) in CHECKS.iter().enumerate() {
        for earlier in &CHECKS[..n] {
            let mut draft = right();
            (later.break_it)(&mut draft);
            (earlier.break_it)(&mut draft);
            let sent = draft.over_http();
            told(&sent, earlier, later.name);
            assert_eq!(sent.status(), earlier.verdict.0, "{} beside {}", earlier.name, later.name);
            pairs += 1;
        }
    }
    assert_eq!(pairs, 78);
}

#[test]
fn a_byte_stream_checks_the_same_in_the_same_order_without_headers_stdio_5() {
    let steps = || CHECKS.iter().filter(|check| check.everywhere);
    for (n, later) in steps().enumerate() {
        for earlier in steps().take(n) {
            let mut draft = right();
            (later.break_it)(&mut draft);
            (earlier.break_it)(&mut draft);
            told(&draft.over_a_pipe(), earlier, later.name);
        }
    }
    for header in CHECKS.iter().filter(|check| !check.everywhere) {
        let mut draft = right();
        (header.break_it)(&mut draft);
        let mut script = Script::new(Pipe::new(MachineId(1), endpoint(), Time(0)));
        script.view = view();
        assert_eq!(script.send_bytes(draft.body().into(), None).text, "");
        assert_eq!(script.calls.len(), 1, "{}", header.name);
    }
}

#[test]
fn an_unknown_tool_is_told_before_its_headers_hdr_12() {
    let mut draft = right();
    draft.message["params"]["name"] = json!("nope");
    (draft.name, draft.region) = ("nope", "elsewhere");
    let sent = draft.over_http();
    assert_eq!((sent.status(), sent.code()), (200, -32602));
    assert_eq!(sent.one()["error"]["message"], "Unknown tool: nope");
}
