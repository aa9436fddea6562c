use mcp_server::testing::Client;
use mcp_server::{Ability, Revision, json};

use super::*;

#[tokio::test]
async fn what_is_small_is_paid_what_is_large_is_asked_in_both_eras() -> mcp_server::Result<()> {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let app = server().build()?;
        let mut client = Client::builder(&app)
            .revision(revision)
            .can(Ability::ElicitationForm)
            .on_request(|method, params| {
                assert_eq!((method, &params["message"]), ("elicitation/create", &json!("Pay 500?")));
                json!({"action": "accept", "content": {"approve": true}})
            })
            .connect();
        client.call("pay", json!({"to": "Ada", "amount": 10})).await.assert_text("Paid 10 to Ada; 4990 are left.");
        client.call("pay", json!({"to": "Ada", "amount": 500})).await.assert_text("Paid 500 to Ada; 4490 are left.");
        client.call("pay", json!({"to": "Ada", "amount": 2000})).await.assert_error_contains("payments:large");
        // Who cannot be asked has not approved.
        let mut mute = Client::builder(&app).revision(revision).connect();
        mute.call("pay", json!({"to": "Ada", "amount": 500})).await.assert_error();
        mute.call("pay", json!({"to": "Ada", "amount": 1})).await.assert_text("Paid 1 to Ada; 4489 are left.");
    }
    Ok(())
}

#[tokio::test]
async fn a_refusal_is_told_to_the_model_and_nothing_is_paid() -> mcp_server::Result<()> {
    let app = server().build()?;
    let mut client =
        Client::builder(&app).can(Ability::ElicitationForm).on_request(|_, _| json!({"action": "decline"})).connect();
    client.call("pay", json!({"to": "Ada", "amount": 500})).await.assert_error();
    client.call("pay", json!({"to": "Ada", "amount": 1})).await.assert_text("Paid 1 to Ada; 4999 are left.");
    Ok(())
}
