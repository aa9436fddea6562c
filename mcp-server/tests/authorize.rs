//! Who may call a sensitive tool.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use mcp_server::ask::elicit;
use mcp_server::middleware::{CallResult, Next};
use mcp_server::question::Question;
use mcp_server::testing::{Answer, Client, block_on};
use mcp_server::{
    Ability, App, Authorization, AuthorizeFn, CallError, Caller, Ctx, Extract, Module, Param, Revision, Server, State,
    Tool, Value, json,
};

const ASKING: [Revision; 3] = [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN];

const KEY: &str = "mcp-server/approval";

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool.")
}

/// A server whose tool `erase` is destructive, and how often it ran.
fn guarded<M>(authorizer: impl AuthorizeFn<M>) -> (App, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let erase = tool("erase").destructive(true).param(Param::integer("id").required()).run(move |_: Value| {
        counted.fetch_add(1, Ordering::Relaxed);
        "gone"
    });
    let open = tool("look").read_only(true).run(|| "seen");
    (Server::new("x", "1").authorize(authorizer).tool(erase).tool(open).build().expect("it builds"), runs)
}

fn ran(runs: &AtomicU32) -> u32 {
    runs.swap(0, Ordering::Relaxed)
}

async fn erase(client: &mut Client) -> Answer {
    client.call("erase", json!({"id": 7})).await
}

/// A person who answers like that, if they are asked.
fn person(app: &App, revision: Revision, says: Value) -> Client {
    Client::builder(app).revision(revision).can(Ability::ElicitationForm).on_request(move |_, _| says.clone()).connect()
}

#[test]
fn an_authorizer_allows_or_denies_by_all_that_is_known_of_the_call_tool_17() {
    let authorizer = |ctx: Ctx, caller: Caller| match caller.principal {
        Some(user) if user.as_str() == "root" => Authorization::Allow,
        Some(_) => Authorization::deny(format!("`{}` of {} is for root", ctx.tool(), ctx.arguments().len())),
        None => Authorization::deny("sign in first"),
    };
    let (app, runs) = guarded(authorizer);
    block_on(async {
        for revision in Revision::ALL {
            let of = |name: &str| Client::builder(&app).revision(revision).principal(name).connect();
            erase(&mut of("root")).await.assert_text("gone");
            assert_eq!(ran(&runs), 1);
            erase(&mut of("ada")).await.assert_error_text("Not allowed: `erase` of 8 is for root");
            let mut nobody = Client::builder(&app).revision(revision).connect();
            erase(&mut nobody).await.assert_error_text("Not allowed: sign in first");
            nobody.call("look", ()).await.assert_text("seen");
            assert_eq!(ran(&runs), 0);
        }
    });
}

#[test]
fn arguments_are_judged_before_anybody_is_asked() {
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let (app, runs) = guarded(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Authorization::Allow
    });
    block_on(async {
        Client::new(&app).call("erase", json!({"id": "seven"})).await.assert_error_contains("`id`");
        assert_eq!((ran(&asked), ran(&runs)), (0, 0));
        erase(&mut Client::new(&app)).await.assert_text("gone");
        assert_eq!((ran(&asked), ran(&runs)), (1, 1));
    });
}

struct Never;

impl Extract for Never {
    fn extract(_: &Ctx) -> Result<Self, CallError> {
        panic!("it is entered")
    }
}

#[test]
fn who_is_denied_reaches_no_extractor_and_middleware_sees_why() {
    let seen = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&seen);
    let around = move |next: Next| {
        let counted = Arc::clone(&counted);
        async move {
            let result: CallResult = next.run().await;
            if result.as_ref().is_err_and(|error| error.to_string().starts_with("Not allowed")) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            result
        }
    };
    let erase = tool("erase").sensitive(true).wrap(around.clone()).run(|_: Never| "gone");
    let server = Server::new("x", "1").wrap(around).authorize(Authorization::deny_all).tool(erase);
    block_on(async {
        let answer = Client::new(server).call("erase", ()).await;
        answer.assert_error_text("Not allowed: this server lets nobody call its sensitive tools");
    });
    assert_eq!(ran(&seen), 2);
}

#[test]
fn an_authorizer_that_fails_or_panics_denies() {
    const UNKNOWN: &str = "Not allowed: it could not be found out whether it may be called.";
    let check = |(app, runs): (App, Arc<AtomicU32>), text: &str| {
        block_on(async { erase(&mut Client::new(&app)).await.assert_error_text(text).is_error() });
        assert_eq!(ran(&runs), 0);
    };
    check(guarded(|| -> Result<Authorization, CallError> { Err(std::io::Error::other("secret"))? }), UNKNOWN);
    check(guarded(|| -> Authorization { panic!("secret") }), UNKNOWN);
    #[allow(unreachable_code, reason = "what it would return")]
    let later = || async {
        panic!("secret");
        Authorization::Allow
    };
    check(guarded(later), UNKNOWN);
    check(guarded(|_: Never| Authorization::Allow), UNKNOWN);
    check(guarded(|| Err::<Authorization, _>("the list of users is closed")), "the list of users is closed");
    check(guarded(|_: Ctx| async { Err::<Authorization, _>("later, perhaps") }), "later, perhaps");
}

fn ask_first(ctx: Ctx) -> Authorization {
    Authorization::ask(format!("Run `{}`?", ctx.tool()))
}

#[test]
fn a_person_approves_in_both_eras_and_nothing_but_a_clear_yes_does_elic_5_mrtr_1_mrtr_15() {
    let (app, runs) = guarded(ask_first);
    block_on(async {
        for revision in ASKING {
            let yes = json!({"action": "accept", "content": {"approve": true}});
            erase(&mut person(&app, revision, yes)).await.assert_text("gone");
            assert_eq!(ran(&runs), 1);
            for (says, why) in [
                (json!({"action": "accept", "content": {"approve": false}}), "the user did not approve it."),
                (json!({"action": "decline"}), "the user did not approve it."),
                (json!({"action": "cancel"}), "the user dismissed the question whether to approve it."),
            ] {
                let answer = erase(&mut person(&app, revision, says)).await;
                answer.assert_error_text(format!("Not allowed: {why}"));
            }
            // What is no answer to the form is no yes.
            for says in [json!({"action": "accept"}), json!({"action": "accept", "content": {"approve": "yes"}})] {
                erase(&mut person(&app, revision, says))
                    .await
                    .assert_error_contains("Not allowed: the user has to approve it");
            }
            assert_eq!(ran(&runs), 0);
        }
    });
}

#[test]
fn a_client_that_cannot_be_asked_is_denied_and_told_what_it_lacks() {
    let (app, runs) = guarded(ask_first);
    block_on(async {
        for revision in Revision::ALL {
            let answer = erase(&mut Client::builder(&app).revision(revision).connect()).await;
            answer.assert_error_contains("Not allowed: the user has to approve it, and the client cannot ask.");
            if ASKING.contains(&revision) {
                answer.assert_error_contains("elicitation");
            }
        }
    });
    assert_eq!(ran(&runs), 0);
}

#[test]
fn what_the_person_is_shown_is_a_form_with_one_field_elic_4() {
    let (app, _) = guarded(ask_first);
    block_on(async {
        let mut client = Client::builder(&app).modern().can(Ability::ElicitationForm).connect();
        let asked = client.request("tools/call", json!({"name": "erase", "arguments": {"id": 7}})).await;
        let form = &asked.json()["result"]["inputRequests"][KEY]["params"];
        assert_eq!(form["message"], "Run `erase`?");
        let fields = json!({"approve": {"type": "boolean", "title": "Approve"}});
        assert_eq!(
            (&form["requestedSchema"]["properties"], &form["requestedSchema"]["required"]),
            (&fields, &json!(["approve"]))
        );
    });
}

/// Sends a call again with that state and those answers.
async fn again(client: &mut Client, state: &Value, answers: Value) -> Answer {
    let params = json!({"name": "erase", "arguments": {"id": 7}, "requestState": state, "inputResponses": answers});
    client.request("tools/call", params).await
}

fn state_of(answer: &Answer) -> Value {
    answer.assert_at("/result/resultType", "input_required");
    answer.json()["result"]["requestState"].clone()
}

fn yes() -> Value {
    json!({KEY: {"action": "accept", "content": {"approve": true}}})
}

async fn first(client: &mut Client) -> Value {
    state_of(&client.request("tools/call", json!({"name": "erase", "arguments": {"id": 7}})).await)
}

#[test]
fn an_approval_is_used_up_by_one_call_of_the_same_arguments_mrtr_8_mrtr_10() {
    let (app, runs) = guarded(ask_first);
    block_on(async {
        let mut client = Client::builder(&app).modern().can(Ability::ElicitationForm).connect();
        let state = first(&mut client).await;
        let other = json!({"name": "erase", "arguments": {"id": 8}, "requestState": state, "inputResponses": yes()});
        client.request("tools/call", other).await.assert_fault(-32602);
        // Nobody asked: an approval that was not waited for is none.
        let unasked = json!({"name": "erase", "arguments": {"id": 7}, "inputResponses": yes()});
        state_of(&client.request("tools/call", unasked).await);
        assert_eq!(ran(&runs), 0);
        again(&mut client, &state, yes()).await.assert_text("gone");
        assert_eq!(ran(&runs), 1);
        again(&mut client, &state, yes()).await.assert_fault(-32602).assert_fault_contains("used before");
        assert_eq!(ran(&runs), 0);
        let state = first(&mut client).await;
        again(&mut client, &state, yes()).await.assert_text("gone");
    });
}

/// A server whose sensitive tool asks by itself, twice, and how often it got that far.
fn asking() -> (App, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let erase = tool("erase").sensitive(true).param(Param::integer("id").required()).run(move |ctx: Ctx, _: Value| {
        let counted = Arc::clone(&counted);
        async move {
            ctx.ask("sure", elicit("Sure?"))?.required()?;
            ctx.one_time().await?;
            ctx.ask("really", elicit("Really?"))?.required()?;
            counted.fetch_add(1, Ordering::Relaxed);
            Ok::<_, CallError>("gone")
        }
    });
    (Server::new("x", "1").authorize(ask_first).tool(erase).build().expect("it builds"), runs)
}

#[test]
fn code_that_asks_afterwards_goes_on_with_the_approval_in_both_eras_mrtr_11() {
    let (app, runs) = asking();
    let shown = Arc::new(AtomicU32::new(0));
    block_on(async {
        for revision in ASKING {
            let counted = Arc::clone(&shown);
            let mut client = Client::builder(&app)
                .revision(revision)
                .can(Ability::ElicitationForm)
                .on_request(move |_, params| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    let approves = params["message"] == "Run `erase`?";
                    let content = if approves { json!({"approve": true}) } else { json!({}) };
                    json!({"action": "accept", "content": content})
                })
                .connect();
            erase(&mut client).await.assert_text("gone");
            assert_eq!((ran(&shown), ran(&runs)), (3, 1), "{revision}");
        }
    });
}

#[test]
fn code_that_asks_with_a_state_of_its_own_goes_on_with_the_approval_as_well_mrtr_11() {
    let erase = tool("erase").sensitive(true).run(|ctx: Ctx| -> Result<String, CallError> {
        let step = ctx.resume().map_or(0, |resume| resume.state[0]);
        let reply = |key| ctx.resume().is_some_and(|resume| resume.reply(key).is_some());
        let question = || {
            let schema = json!({"type": "object", "properties": {}}).to_string();
            Question::Form { message: format!("Step {step}?").into(), schema: schema.into() }
        };
        match step {
            0 => Err(CallError::ask([("first", question())], [1].to_vec())),
            1 if reply("first") => Err(CallError::ask([("second", question())], [2].to_vec())),
            2 if reply("second") && !reply(KEY) => Ok("gone".into()),
            step => Ok(format!("step {step} without a reply")),
        }
    });
    let app = Server::new("x", "1").authorize(ask_first).tool(erase).build().expect("it builds");
    block_on(async {
        for revision in ASKING {
            let asked = Arc::new(Mutex::new(Vec::new()));
            let shown = Arc::clone(&asked);
            let mut client = Client::builder(&app)
                .revision(revision)
                .can(Ability::ElicitationForm)
                .on_request(move |_, params| {
                    let message = params["message"].as_str().unwrap_or_default().to_owned();
                    let content = if message.starts_with("Run") { json!({"approve": true}) } else { json!({}) };
                    shown.lock().expect("no panic").push(message);
                    json!({"action": "accept", "content": content})
                })
                .connect();
            client.call("erase", ()).await.assert_text("gone");
            assert_eq!(*asked.lock().expect("no panic"), ["Run `erase`?", "Step 0?", "Step 1?"], "{revision}");
        }
    });
}

#[test]
fn no_state_of_an_approved_call_goes_on_twice_mrtr_10() {
    let (app, runs) = asking();
    block_on(async {
        let mut client = Client::builder(&app).modern().can(Ability::ElicitationForm).connect();
        let said = |key: &str| json!({key: {"action": "accept"}});
        let approve = first(&mut client).await;
        let sure = state_of(&again(&mut client, &approve, yes()).await);
        again(&mut client, &approve, yes()).await.assert_fault(-32602);
        let really = state_of(&again(&mut client, &sure, said("sure")).await);
        again(&mut client, &sure, said("sure")).await.assert_fault(-32602);
        again(&mut client, &really, said("really")).await.assert_text("gone");
        assert_eq!(ran(&runs), 1);
        again(&mut client, &really, said("really")).await.assert_fault(-32602);
        assert_eq!(ran(&runs), 0);
    });
}

#[test]
fn who_may_call_is_asked_on_each_run() {
    let open = Arc::new(AtomicU32::new(1));
    let own = Arc::clone(&open);
    let erase = tool("erase").sensitive(true).run(|ctx: Ctx| -> Result<&'static str, CallError> {
        ctx.ask("sure", elicit("Sure?"))?.required()?;
        Ok("gone")
    });
    let authorizer = move || match own.load(Ordering::Relaxed) {
        0 => Authorization::deny("it is closed"),
        _ => Authorization::Allow,
    };
    let app = Server::new("x", "1").authorize(authorizer).tool(erase).build().expect("it builds");
    block_on(async {
        for revision in ASKING {
            open.store(1, Ordering::Relaxed);
            let closes = Arc::clone(&open);
            let mut client = Client::builder(&app)
                .revision(revision)
                .can(Ability::ElicitationForm)
                .on_request(move |_, _| {
                    closes.store(0, Ordering::Relaxed);
                    json!({"action": "accept"})
                })
                .connect();
            client.call("erase", ()).await.assert_error_text("Not allowed: it is closed");
        }
    });
}

/// What is wrong with a server, one line of each.
fn wrong(server: Server) -> Vec<String> {
    let error = server.build().expect_err("it is not built");
    error.defects().iter().map(|defect| format!("{} {}: {}", defect.rule, defect.entry, defect.message)).collect()
}

const UNGUARDED: &str = "it is sensitive, as it says so or that it is destructive, and the server has nothing that says who may call \
    it: give the server an authorizer with `.authorize(..)`, or let everybody call this tool, with its name in \
    `.allow_unguarded([..])`";

#[test]
fn sensitive_tools_without_an_authorizer_are_refused_by_name_unless_that_is_allowed_by_name() {
    let module = Module::new("admin").sensitive(true).tool(tool("purge").read_only(true).run(|| ()));
    let server = || {
        Server::new("x", "1")
            .tool(tool("erase").destructive(true).read_only(true).sensitive(false).run(|| ()))
            .tool(tool("pay").sensitive(true).destructive(false).run(|| ()))
            .tool(tool("look").run(|| ()))
            .tool(tool("tidy").destructive(false).sensitive(false).run(|| ()))
    };
    let all = ["erase", "pay", "purge"].map(|name| format!("TOOL-17 {name}: {UNGUARDED}"));
    assert_eq!(wrong(server().module(module)), all);
    assert_eq!(wrong(server().allow_unguarded(["erase"])), [format!("TOOL-17 pay: {UNGUARDED}")]);
    server().allow_unguarded(["erase"]).allow_unguarded(["pay"]).build().expect("all of them are allowed");
    server().authorize(Authorization::allow_all).build().expect("there is an authorizer");
    let none = |name: &str| {
        format!(
            "TOOL-17 server: `allow_unguarded` names `{name}`, which is no sensitive tool of this server: leave it out, or mend its \
             name"
        )
    };
    let named = server().authorize(Authorization::allow_all).allow_unguarded(["look", "erase", "earse"]);
    assert_eq!(wrong(named), [none("look"), none("earse")]);
}

#[test]
fn a_tool_that_is_allowed_by_name_is_called_by_everybody_also_where_there_is_an_authorizer() {
    let tools = ["erase", "pay"].map(|name| tool(name).sensitive(true).run(|| "done"));
    let server = Server::new("x", "1").authorize(Authorization::deny_all).allow_unguarded(["pay"]);
    let app = tools.into_iter().fold(server, Server::tool).build().expect("it builds");
    block_on(async {
        Client::new(&app).call("pay", ()).await.assert_text("done");
        Client::new(&app).call("erase", ()).await.assert_error_contains("Not allowed");
    });
}

#[test]
fn what_is_added_later_is_guarded_as_well() {
    let erase = || tool("erase").destructive(true).run(|| "gone");
    let app = Server::new("x", "1").build().expect("it builds");
    let error = app.add_tool(erase()).expect_err("nobody says who may call it").to_string();
    assert!(error.contains(UNGUARDED), "{error}");
    assert!(app.edit(|edit| edit.add_module(Module::new("m").tool(erase()))).is_err());
    assert_eq!(app.tool_names(), [""; 0]);
    let app = Server::new("x", "1").authorize(Authorization::deny_all).build().expect("it builds");
    app.add_tool(erase()).expect("it is guarded");
    block_on(async {
        Client::new(&app).call("erase", ()).await.assert_error_contains("Not allowed");
    });
}

struct Missing;

#[test]
fn an_authorizer_has_what_it_takes_and_there_is_one_of_it() {
    let takes = |_: State<Missing>| Authorization::Allow;
    let [lacks, again] = &wrong(Server::new("x", "1").authorize(takes).authorize(Authorization::allow_all))[..] else {
        panic!("two defects")
    };
    assert!(lacks.starts_with("TOOL-17 server: the authorizer given at "), "{lacks}");
    assert!(lacks.contains("Missing`, which the server was not given"), "{lacks}");
    assert!(again.contains("two authorizers were given, at "), "{again}");
    let app = Server::new("x", "1").state(Missing).authorize(takes).tool(tool("a").sensitive(true).run(|| "a"));
    block_on(async {
        Client::new(app).call("a", ()).await.assert_text("a");
    });
}

#[test]
fn a_definition_that_is_only_looked_at_needs_no_authorizer() {
    let schema = json!({"type": "object"});
    let definition = json!({
        "name": "erase", "description": "Erases.", "inputSchema": schema, "annotations": {"destructiveHint": true},
    });
    #[cfg(feature = "validate")]
    Tool::validate(&definition).expect("nothing is wrong with it");
    #[cfg(not(feature = "validate"))]
    drop(definition);
}

#[tokio::test]
async fn arguments_are_judged_once_so_that_a_check_that_changes_its_mind_lets_nobody_in() {
    let (judged, ran) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (count, counted) = (Arc::clone(&judged), Arc::clone(&ran));
    let fickle = Param::string("note").required().validate(move |_: &Value| count.fetch_add(1, Ordering::SeqCst) > 0);
    let tool = Tool::new("purge").description("Purges.").sensitive(true).param(fickle).run(move |_: Value| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let app = Server::new("x", "1").authorize(Authorization::deny_all).tool(tool).build().expect("it builds");
    let mut client = Client::new(&app);
    client.call("purge", json!({"note": "a"})).await.assert_error_contains("`note`");
    client.call("purge", json!({"note": "a"})).await.assert_error_contains("Not allowed");
    assert_eq!((judged.load(Ordering::SeqCst), ran.load(Ordering::SeqCst)), (2, 0));
}
