//! Validators that could never be content with an argument of that type.

use mcp_server::{tool, validators};

/// Invites somebody.
#[tool]
fn invite(
    #[arg(validate = validators::email)] seat: u32,
    #[arg(validate = validators::range(1..=10))] name: String,
    #[arg(validate = validators::regex("^a"))] flag: bool,
) -> String {
    format!("{seat} {name} {flag}")
}

fn main() {}
