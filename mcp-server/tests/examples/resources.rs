use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn profiles_are_read_and_their_ids_proposed() -> Result<()> {
    let users = Users::default();
    for (id, name) in [(1, "Ada"), (12, "Grace"), (2, "Alan")] {
        let user = User { name: name.into(), city: "London".into() };
        users.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, user);
    }
    let app = server(users).build()?;
    let mut client = Client::new(&app);
    client.read("app://motto").await.assert_text("Keep it short.");
    let uri = "users://12/profile";
    let text = json!({"name": "Grace", "city": "London"}).to_string();
    client.read(uri).await.assert_contents(json!([{"uri": uri, "mimeType": "application/json", "text": text}]));
    client.read("users://3/profile").await.assert_fault(-32002);
    client.read("users://ada/profile").await.assert_fault(-32002);
    client.read("file:///docs/../Cargo.toml").await.assert_fault(-32002);
    client.complete_template("users://{id}/profile", "id", "1").await.assert_values(["1", "12"]);
    Ok(())
}
