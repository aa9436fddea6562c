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

struct Desk;

#[::mcp_server::tools]
impl Desk {
    /// Adds.
    #[::mcp_server::tool]
    async fn sum(&self, mcp_server::Args(pair): mcp_server::Args<Pair>, ctx: mcp_server::Ctx) -> std::string::String {
        format!("{} {}", pair.a + pair.b, ctx.tool())
    }

    /// Compares.
    #[mcp_server::tool]
    fn either(either: Either) -> bool {
        matches!(either, Either::One)
    }
}

fn main() {
    let _ = (add(1, 2, std::string::String::new()), Either::Other);
    let app = mcp_server::Server::new("a", "1").tool(add).tools(Desk).build();
    assert!(app.is_ok(), "{app:?}");
}
