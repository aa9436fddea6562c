//! Structured results: a type in place of a text, its schema published with the tool.

use mcp_server::{Arguments, CallError, Json, Result, Server, tool};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Arguments)]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// In the unit that was asked for
    temperature: f64,
    conditions: String,
    /// The next days, tomorrow first
    forecast: Vec<Day>,
}

#[derive(Serialize, JsonSchema)]
struct Day {
    high: f64,
    rain: bool,
}

/// Get the current weather.
#[tool(title = "Weather", read_only)]
fn get_weather(
    #[arg(desc = "City name", min_length = 1)] city: String,
    #[arg(default = Unit::Celsius)] unit: Unit,
    #[arg(desc = "Days of forecast", default = 1, max = 7)] days: u8,
) -> Result<Json<Weather>, CallError> {
    // The model reads this, and can do better.
    if city == "Atlantis" {
        return Err(CallError::new("Atlantis has no weather: try a city above the sea."));
    }
    let degrees = |celsius: f64| match unit {
        Unit::Celsius => celsius,
        Unit::Fahrenheit => celsius * 1.8 + 32.0,
    };
    let forecast =
        (0..days).map(|day| Day { high: degrees(20.0 + 5.0 * f64::from(day)), rain: day % 2 == 0 }).collect();
    Ok(Json(Weather { temperature: degrees(22.5), conditions: "Partly cloudy".into(), forecast }))
}

fn server() -> Server {
    Server::new("weather", "1.0.0").tool(get_weather)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/structured.rs"]
mod tests;
