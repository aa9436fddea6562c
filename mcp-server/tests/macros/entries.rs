//! `#[resource]`, `#[resource_template]` and `#[prompt]`: what they publish is what the builder publishes when it is told the
//! same, and what they run.

use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use mcp_server::testing::{Client, block_on};
use mcp_server::{
    Args, Arguments, CallError, Completing, Contents, Ctx, Extract, IntoPrompt as _, IntoResource as _,
    IntoResourceTemplate as _, Json, Permission, Prompt, PromptArg, PromptMessage, Resource, ResourceTemplate,
    Revision, Role, Server, State, Ui, Value, json, prompt, resource, resource_template, tool, tools,
};
use serde::{Deserialize, Serialize};

fn server() -> Server {
    Server::new("test", "1")
}

#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

/// All notes.
///
/// One a line.
#[resource("test://notes", mime = "text/plain")]
fn list_notes(state: State<Notes>) -> String {
    state.0.0.lock().unwrap().join("\n")
}

const README: &str = "test://readme";

#[resource(
    uri = README,
    name = "README",
    title = "Read me",
    description = "What it is.",
    mime = "text/markdown",
    size = 7,
    audience = ["user", "assistant"],
    priority = 1,
    last_modified = "2025-01-12T15:00:58Z",
    icon = "https://example.com/a.png",
    meta = json!({"example.com/a": 1}),
    tags(team = "docs"),
    logs
)]
async fn read_me(ctx: Ctx) -> Result<Vec<Contents>, CallError> {
    let (uri, team) = (ctx.uri().unwrap_or_default().to_owned(), ctx.tags()["team"].clone());
    Ok(vec![Contents::text(format!("{uri} {team}")), Contents::bytes(vec![1])])
}

/// A page.
#[resource("ui://map/map.html", csp(connect = ["https://a.example"]), permissions(geolocation), prefers_border)]
fn page_of_map() -> &'static str {
    "<!doctype html>"
}

#[derive(Serialize)]
struct Profile {
    id: u64,
    uri: Option<String>,
    full: Option<bool>,
    limit: u8,
}

/// The profile of a user.
#[resource_template("users://{id}/profile{?full,limit}", mime = "application/json", audience = [Role::User], priority = 0.5)]
async fn user_profile(
    #[arg(complete = ids)] id: u64,
    ctx: Ctx,
    full: Option<bool>,
    #[arg(default = 10, complete = ["10", "20"])] limit: u8,
) -> Result<Json<Profile>, CallError> {
    if id == 0 {
        return Err(CallError::not_found());
    }
    Ok(Json(Profile { id, uri: ctx.uri().map(ToOwned::to_owned), full, limit }))
}

fn ids(State(notes): State<Notes>, typed: String) -> Vec<String> {
    notes.0.lock().unwrap().iter().filter(|id| id.starts_with(&typed)).cloned().collect()
}

const COLORS: [&str; 2] = ["blue", "red"];
const SIZES: &[&str] = &["large", "small"];

#[derive(Debug, Arguments)]
#[arg(rename_all = "lowercase")]
enum Color {
    Blue,
    Red,
}

/// A shirt.
#[resource_template("shirts://{color}/{size.of}/{+rest}", name = "shirt", title = "Shirt")]
fn shirt_of(
    #[arg(complete = COLORS)] color: Color,
    #[arg(name = "size.of", complete = &SIZES)] size: String,
    #[arg(complete = |typed: Completing| vec![format!("{}-{:?}", typed.value, typed.get("color"))])] rest: String,
) -> String {
    format!("{color:?} {size} {rest}")
}

#[derive(Deserialize)]
struct Both {
    a: u8,
    b: String,
}

/// Whatever there is.
#[resource_template("all://{a}/{b}")]
fn all_of_it(Args(both): Args<Both>) -> String {
    format!("{} {}", both.a, both.b)
}

/// Reviews code.
#[prompt(title = "Review", icon = "https://example.com/b.png", meta = json!({"example.com/b": 2}), tags(strict))]
fn code_review(
    ctx: Ctx,
    #[arg(desc = "The code", title = "Code", min_length = 2)] code: String,
    /// What it is written in
    #[arg(complete = languages)]
    language: Option<String>,
    #[arg(min = 1, max = 5, default = 3)] level: u8,
    #[arg(one_of = ["bugs", "style"], name = "focusOn")] focus: Option<String>,
) -> [PromptMessage; 2] {
    [
        PromptMessage::system(format!("Level {level}, {}", ctx.tags()["strict"])),
        PromptMessage::user(format!("{code} {language:?} {focus:?}")),
    ]
}

async fn languages(typed: Completing) -> Vec<&'static str> {
    ["c", "java", "rust"].into_iter().filter(|language| language.starts_with(&typed.value)).collect()
}

/// Greets.
#[prompt]
async fn greet(State(notes): State<Notes>) -> Result<String, CallError> {
    Ok(notes.0.lock().unwrap().first().ok_or_else(|| CallError::new("There is nobody."))?.clone())
}

#[derive(Arguments)]
struct Trip {
    /// Where to
    country: Color,
    city: Option<String>,
}

/// Plans a trip.
#[prompt]
fn plan_trip(Args(trip): Args<Trip>) -> String {
    format!("{:?} {:?}", trip.country, trip.city)
}

fn of_macros() -> Server {
    let server = server().state(Notes(Mutex::new(vec!["12".into(), "7".into()])));
    let server = server.resource(list_notes).resource(read_me).resource(page_of_map);
    let server = server.resource_template(user_profile).resource_template(shirt_of).resource_template(all_of_it);
    server.prompt(code_review).prompt(greet).prompt(plan_trip)
}

fn by_hand() -> Server {
    #[derive(Arguments)]
    struct Review {
        #[arg(desc = "The code", title = "Code", min_length = 2)]
        #[allow(dead_code, reason = "read for its schema")]
        code: String,
        /// What it is written in
        #[allow(dead_code, reason = "read for its schema")]
        language: Option<String>,
        #[arg(min = 1, max = 5, default = 3)]
        #[allow(dead_code, reason = "read for its schema")]
        level: u8,
        #[arg(one_of = ["bugs", "style"], name = "focusOn")]
        #[allow(dead_code, reason = "read for its schema")]
        focus: Option<String>,
    }
    let readme = Resource::new(README)
        .name("README")
        .title("Read me")
        .description("What it is.")
        .mime("text/markdown")
        .size(7)
        .audience([Role::User, Role::Assistant])
        .priority(1.0)
        .last_modified("2025-01-12T15:00:58Z")
        .icon("https://example.com/a.png")
        .meta(json!({"example.com/a": 1}))
        .tag("team", "docs")
        .logs()
        .run(|| "");
    let page = Resource::app("ui://map/map.html")
        .name("page_of_map")
        .description("A page.")
        .ui(Ui::new().connect_domains(["https://a.example"]).permission(Permission::Geolocation).prefers_border(true))
        .run(|| "<!doctype html>");
    let profile = ResourceTemplate::new("users://{id}/profile{?full,limit}")
        .name("user_profile")
        .description("The profile of a user.")
        .mime("application/json")
        .audience([Role::User])
        .priority(0.5)
        .run(|_: Value| "");
    let shirts = ResourceTemplate::new("shirts://{color}/{size.of}/{+rest}")
        .name("shirt")
        .title("Shirt")
        .description("A shirt.")
        .run(|_: Value| "");
    let review = Prompt::new("code_review")
        .title("Review")
        .description("Reviews code.")
        .icon("https://example.com/b.png")
        .meta(json!({"example.com/b": 2}))
        .arguments::<Review>()
        .run(|_: Value| "");
    let trip = Prompt::new("plan_trip")
        .description("Plans a trip.")
        .arg(PromptArg::new("country").description("Where to").required())
        .arg(PromptArg::new("city"))
        .run(|_: Value| "");
    server()
        .resource(
            Resource::new("test://notes")
                .name("list_notes")
                .description("All notes.\n\nOne a line.")
                .mime("text/plain")
                .run(|| ""),
        )
        .resource(readme)
        .resource(page)
        .resource_template(profile)
        .resource_template(shirts)
        .resource_template(
            ResourceTemplate::new("all://{a}/{b}")
                .name("all_of_it")
                .description("Whatever there is.")
                .run(|_: Value| ""),
        )
        .prompt(review)
        .prompt(Prompt::new("greet").description("Greets.").run(|| ""))
        .prompt(trip)
}

#[test]
fn a_macro_publishes_what_the_builder_does() {
    block_on(async {
        let (mut one, mut other) = (Client::new(of_macros()), Client::new(by_hand()));
        for (method, key, count) in [
            ("resources/list", "resources", 3),
            ("resources/templates/list", "resourceTemplates", 3),
            ("prompts/list", "prompts", 3),
        ] {
            let one = one.request(method, ()).await.result().expect("a list").clone();
            assert_eq!(one[key].as_array().map(Vec::len), Some(count), "{one}");
            assert_eq!(one[key], other.request(method, ()).await.result().expect("a list")[key]);
        }
    });
}

#[test]
fn the_functions_can_be_called_as_before() {
    let state = State(Arc::new(Notes(Mutex::new(vec!["a".into()]))));
    assert_eq!(list_notes(state.clone()), "a");
    assert_eq!(page_of_map(), "<!doctype html>");
    assert_eq!(shirt_of(Color::Red, "s".into(), "x".into()), "Red s x");
    assert_eq!(plan_trip(Args(Trip { country: Color::Blue, city: None })), "Blue None");
    block_on(async {
        assert_eq!(greet(state).await.expect("somebody is there"), "a");
    });
    assert_eq!(format!("{list_notes:?} {user_profile:?} {code_review:?}"), "list_notes user_profile code_review");
}

#[test]
fn resources_are_read_with_what_they_take_res_4_app_4() {
    block_on(async {
        let mut client = Client::new(of_macros());
        client.read("test://notes").await.assert_text("12\n7");
        client.read(README).await.assert_contents(json!([
            {"uri": README, "mimeType": "text/markdown", "text": "test://readme \"docs\""},
            {"uri": README, "mimeType": "text/markdown", "blob": "AQ=="},
        ]));
        let meta = json!({"ui": {
            "csp": {"connectDomains": ["https://a.example"]},
            "permissions": {"geolocation": {}},
            "prefersBorder": true,
        }});
        client.read("ui://map/map.html").await.assert_contents(json!([
            {"uri": "ui://map/map.html", "mimeType": "text/html;profile=mcp-app", "text": "<!doctype html>", "_meta": meta},
        ]));
    });
}

#[test]
fn each_variable_has_its_own_type_and_what_does_not_fit_names_nothing_res_5() {
    block_on(async {
        let app = of_macros().build().expect("it builds");
        let mut modern = Client::builder(&app).revision(Revision::V2026_07_28).connect();
        let mut client = Client::new(&app);
        let uri = "users://12/profile?full=true&limit=3";
        let text = json!({"id": 12, "uri": uri, "full": true, "limit": 3}).to_string();
        client.read(uri).await.assert_contents(json!([{"uri": uri, "mimeType": "application/json", "text": text}]));
        let uri = "users://12/profile";
        client.read(uri).await.assert_text(json!({"id": 12, "uri": uri, "full": null, "limit": 10}).to_string());
        for wrong in ["users://ada/profile", "users://0/profile", "users://1/profile?limit=256", "shirts://green/s/x"] {
            client.read(wrong).await.assert_fault(-32002).assert_at("/error/data/uri", wrong);
            modern.read(wrong).await.assert_fault(-32602).assert_at("/error/data/uri", wrong);
        }
        client.read("shirts://red/s%20m/a/b").await.assert_text("Red s m a/b");
        client.read("all://7/x").await.assert_text("7 x");
    });
}

#[test]
fn arguments_of_prompts_are_read_and_checked_prompt_3() {
    block_on(async {
        let mut client = Client::new(of_macros());
        let answer = client.get_prompt("code_review", json!({"code": "x = 1"})).await;
        answer.assert_at("/result/messages/0/content/text", "Level 3, true");
        answer.assert_at("/result/messages/1/content/text", "x = 1 None None");
        let arguments = json!({"code": "x = 1", "language": "c", "level": "5", "focusOn": "bugs"});
        let answer = client.get_prompt("code_review", arguments).await;
        answer.assert_at("/result/messages/0/content/text", "Level 5, true");
        answer.assert_at("/result/messages/1/content/text", r#"x = 1 Some("c") Some("bugs")"#);
        for (wrong, named) in [
            (json!({}), "code"),
            (json!({"code": "x"}), "code"),
            (json!({"code": "x = 1", "level": "6"}), "level"),
            (json!({"code": "x = 1", "level": "high"}), "level"),
            (json!({"code": "x = 1", "focusOn": "all"}), "focusOn"),
        ] {
            client.get_prompt("code_review", wrong).await.assert_fault(-32602).assert_fault_contains(named);
        }
        client.get_prompt("greet", ()).await.assert_text("12");
        client.get_prompt("plan_trip", json!({"country": "red", "city": "x"})).await.assert_text(r#"Red Some("x")"#);
        client.get_prompt("plan_trip", json!({"country": "green"})).await.assert_fault_contains("country");
    });
}

#[test]
fn what_is_proposed_is_a_list_or_what_a_function_returns_comp_1() {
    block_on(async {
        let mut client = Client::new(of_macros());
        client.complete_prompt("code_review", "language", "j").await.assert_values(["java"]);
        client.complete_prompt("code_review", "focusOn", "B").await.assert_values(["bugs"]);
        client.complete_prompt("plan_trip", "country", "r").await.assert_values(["red"]);
        let users = "users://{id}/profile{?full,limit}";
        client.complete_template(users, "id", "1").await.assert_values(["12"]);
        client.complete_template(users, "limit", "2").await.assert_values(["20"]);
        let shirts = "shirts://{color}/{size.of}/{+rest}";
        client.complete_template(shirts, "color", "").await.assert_values(["blue", "red"]);
        client.complete_template(shirts, "size.of", "s").await.assert_values(["small"]);
        let completed = client.complete_template(shirts, "rest", "x").context(json!({"color": "red"})).await;
        completed.assert_values([r#"x-Some("red")"#]);
    });
}

#[derive(Debug, Default)]
struct Threads(Mutex<Vec<ThreadId>>);

impl Threads {
    fn remember(&self) {
        self.0.lock().unwrap().push(std::thread::current().id());
    }
}

#[resource("threads://one", blocking)]
fn blocking_resource(State(threads): State<Threads>) -> &'static str {
    threads.remember();
    "one"
}

#[resource_template("threads://many/{id}", blocking)]
fn blocking_template(id: String, State(threads): State<Threads>) -> String {
    threads.remember();
    id
}

#[prompt(blocking)]
fn blocking_prompt(State(threads): State<Threads>, text: String) -> String {
    threads.remember();
    text
}

#[tokio::test]
async fn blocking_code_runs_on_another_thread() {
    let threads = Arc::new(Threads::default());
    let server = server().resource(blocking_resource).resource_template(blocking_template).prompt(blocking_prompt);
    let mut client = Client::new(server.shared_state(Arc::clone(&threads)));
    client.read("threads://one").await.assert_text("one");
    client.read("threads://many/2").await.assert_text("2");
    client.get_prompt("blocking_prompt", json!({"text": "x"})).await.assert_text("x");
    let threads = threads.0.lock().unwrap();
    assert_eq!(threads.len(), 3);
    assert!(!threads.contains(&std::thread::current().id()));
}

struct Tagged(Value);

impl Extract for Tagged {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        Ok(Self(ctx.tags()["team"].clone()))
    }
}

#[prompt(tags(team = "sales"))]
fn tagged(first: u8, #[extract] tagged: Tagged, second: Option<bool>) -> String {
    format!("{first} {} {second:?}", tagged.0)
}

#[test]
fn extractors_stand_anywhere() {
    block_on(async {
        let mut client = Client::new(server().prompt(tagged));
        let answer = client.get_prompt("tagged", json!({"first": "1", "second": "true"})).await;
        answer.assert_text(r#"1 "sales" Some(true)"#);
    });
}

struct Desk {
    notes: Mutex<Vec<String>>,
}

#[tools]
impl Desk {
    /// Writes a note.
    #[tool]
    fn write(&self, text: String) -> usize {
        let mut notes = self.notes.lock().unwrap();
        notes.push(text);
        notes.len()
    }

    /// All notes.
    #[resource("desk://notes", mime = "text/plain")]
    fn all(&self) -> String {
        self.notes.lock().unwrap().join("\n")
    }

    /// One note.
    #[resource_template("desk://notes/{index}")]
    async fn one(self: Arc<Self>, #[arg(complete = Self::indices)] index: usize) -> Option<String> {
        self.notes.lock().unwrap().get(index).cloned()
    }

    /// Sums the notes up.
    #[prompt]
    async fn sum_up(
        &self,
        #[arg(complete = ["brief", "long"])] style: Option<String>,
        #[arg(complete = Self::words)] word: Option<String>,
        #[arg(complete = Self::lines)] line: Option<String>,
    ) -> String {
        format!("Sum up, {style:?} {word:?} {line:?}: {}", self.all())
    }

    // Code that completes is a method as well.
    fn words(&self, ctx: Ctx, typed: String) -> Vec<String> {
        let all = self.all();
        all.split(' ').filter(|word| word.starts_with(&typed)).map(|word| format!("{} {word}", ctx.name())).collect()
    }

    async fn lines(self: Arc<Self>, typed: Completing) -> Vec<String> {
        tokio::task::yield_now().await;
        self.all().lines().filter(|line| line.starts_with(&typed.value)).map(ToOwned::to_owned).collect()
    }

    fn indices(typed: String) -> Vec<String> {
        vec![typed + "0"]
    }
}

#[test]
fn one_block_has_tools_resources_templates_and_prompts() {
    block_on(async {
        let mut client = Client::new(server().tools(Desk { notes: Mutex::default() }));
        client.call("write", json!({"text": "Buy milk."})).await.assert_text("1");
        client.read("desk://notes").await.assert_text("Buy milk.");
        client.read("desk://notes/0").await.assert_text("Buy milk.");
        assert!(client.read("desk://notes/1").await.fault().is_some());
        client
            .get_prompt("sum_up", json!({"style": "brief"}))
            .await
            .assert_text("Sum up, Some(\"brief\") None None: Buy milk.");
        client.complete_prompt("sum_up", "style", "l").await.assert_values(["long"]);
        client.complete_prompt("sum_up", "word", "m").await.assert_values(["sum_up milk."]);
        client.complete_prompt("sum_up", "line", "B").await.assert_values(["Buy milk."]);
        client.complete_template("desk://notes/{index}", "index", "4").await.assert_values(["40"]);
        // While it serves.
        let app = server().offers_resources().offers_prompts().offers_completions().build().expect("it builds");
        app.edit(|edit| edit.add_all(Desk { notes: Mutex::new(vec!["x".into()]) })).expect("it can be added");
        Client::new(&app).read("desk://notes").await.assert_text("x");
    });
}

struct Shelf<S> {
    store: S,
}

trait Store: Clone + Send + Sync + 'static {
    fn get(&self, key: &str) -> Option<String>;
}

#[derive(Clone)]
struct One(&'static str);

impl Store for One {
    fn get(&self, key: &str) -> Option<String> {
        (key == self.0).then(|| self.0.to_owned())
    }
}

#[tools]
impl<S: Store> Shelf<S> {
    /// What is stored.
    #[resource_template("shelf://{key}")]
    fn stored(&self, State(other): State<S>, #[arg(complete = Self::keys)] key: String) -> Option<String> {
        self.store.get(&key).or_else(|| other.get(&key))
    }

    /// The first.
    #[resource("shelf://first/one")]
    async fn first(&self) -> Option<String> {
        self.store.get("a")
    }

    #[prompt]
    async fn ask_for(self: Arc<Self>, State(other): State<S>, key: String) -> String {
        format!("{:?}", self.store.get(&key).or_else(|| other.get(&key)))
    }

    #[cfg(any())]
    #[prompt]
    fn never(&self) -> Missing {}

    fn keys(&self, typed: String) -> Vec<String> {
        self.store.get(&typed).into_iter().collect()
    }
}

#[test]
fn a_block_may_be_generic_over_what_the_value_holds() {
    block_on(async {
        let mut client = Client::new(server().state(One("b")).tools(Shelf { store: One("a") }));
        client.read("shelf://a").await.assert_text("a");
        client.read("shelf://b").await.assert_text("b");
        client.read("shelf://first/one").await.assert_text("a");
        client.get_prompt("ask_for", json!({"key": "b"})).await.assert_text(r#"Some("b")"#);
        client.complete_template("shelf://{key}", "key", "a").await.assert_values(["a"]);
        assert_eq!(client.list_prompts().await.len(), 1);
    });
}

macro_rules! made {
    ($name:ident $template:ident $uri:literal $other:expr, $type:ty, $mime:expr, $body:block) => {
        #[resource($uri, mime = $mime)]
        fn $name() -> $type $body

        #[resource_template($other)]
        fn $template(id: $type) -> $type {
            id
        }
    };
}

made!(by_example many_by_example "made://one" "made://many/{id}", String, "text/plain", { String::from("made") });

#[test]
fn entries_may_come_from_a_macro_by_example() {
    block_on(async {
        let mut client = Client::new(server().resource(by_example).resource_template(many_by_example));
        client.read("made://one").await.assert_text("made");
        client.read("made://many/x").await.assert_text("x");
    });
}

#[test]
fn what_is_made_is_the_builder_of_its_kind() {
    let made =
        format!("{:?} {:?} {:?}", list_notes.into_resource(), all_of_it.into_resource_template(), greet.into_prompt());
    assert!(made.contains("test://notes") && made.contains("all://{a}/{b}") && made.contains("greet"), "{made}");
}
