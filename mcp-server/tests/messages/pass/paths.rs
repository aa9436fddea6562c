//! Nothing is imported, and `serde` and `schemars` are not needed; common names mean something else.
#![deny(warnings)]

type Result = u8;
type Option = u8;
type String = std::string::String;
type Vec = u8;
struct Ok;
struct Some;

/// Adds.
#[mcp_server::tool]
fn add(a: i64, b: Result, text: String) -> i64 {
    let _ = (Ok, Some, text);
    a + i64::from(b)
}

#[derive(::mcp_server::Arguments)]
struct Pair {
    a: Option,
    #[arg(default)]
    b: Vec,
}

#[derive(mcp_server::Arguments)]
enum Either {
    One,
    Other,
}

#[mcp_server::resource("a://b")]
async fn held(ctx: mcp_server::Ctx) -> std::option::Option<String> {
    ctx.uri().map(std::borrow::ToOwned::to_owned)
}

#[mcp_server::resource_template("a://{b}")]
fn made(#[arg(complete = ["1"])] b: Option) -> String {
    b.to_string()
}

#[mcp_server::prompt]
async fn said(#[arg(default)] b: Vec, c: std::option::Option<String>) -> String {
    format!("{b} {c:?}")
}

/// Shows.
#[mcp_server::app(view = "a.html", csp(connect = ["https://a.example"]), permissions(camera), visibility = ["app"])]
fn shown() -> String {
    String::new()
}

struct Desk;

#[::mcp_server::tools]
impl Desk {
    /// Adds.
    #[::mcp_server::tool]
    async fn sum(&self, mcp_server::Args(pair): mcp_server::Args<Pair>, ctx: mcp_server::Ctx) -> std::string::String {
        format!("{} {}", pair.a + pair.b, ctx.tool())
    }

    #[mcp_server::resource("b://b")]
    async fn held(&self) -> String {
        String::new()
    }

    /// Compares.
    #[mcp_server::tool]
    fn either(either: Either) -> bool {
        matches!(either, Either::One)
    }
}

fn main() {
    let _ = (add(1, 2, std::string::String::new()), Either::Other);
    let app = mcp_server::Server::new("a", "1").tool(add).tools(Desk).resource(held).resource_template(made);
    let app = app.prompt(said).app(shown).build();
    assert!(app.is_ok(), "{app:?}");
}
