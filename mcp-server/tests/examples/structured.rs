use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn a_result_is_structured_and_its_schema_is_published() -> Result<()> {
    let mut client = Client::new(&server().build()?);
    let tools = client.list_tools().await;
    assert_eq!(
        tools[0].output_schema.as_ref().map(|schema| &schema["required"]),
        Some(&json!(["temperature", "conditions", "forecast"]))
    );
    client.call("get_weather", json!({"city": "Oslo", "unit": "Fahrenheit", "days": 2})).await.assert_structured(json!({
        "temperature": 72.5, "conditions": "Partly cloudy", "forecast": [{"high": 68.0, "rain": true}, {"high": 77.0, "rain": false}],
    }));
    client.call("get_weather", json!({"city": "Oslo"})).await.assert_structured(json!({
        "temperature": 22.5, "conditions": "Partly cloudy", "forecast": [{"high": 20.0, "rain": true}],
    }));
    client.call("get_weather", json!({"city": "Atlantis"})).await.assert_error_contains("try a city above the sea");
    client.call("get_weather", json!({"city": "", "days": 8})).await.assert_error_contains("`days`");
    Ok(())
}
