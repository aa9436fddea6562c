use mcp_server::testing::{Client, Reply};
use mcp_server::{Ability, Revision, json};

use super::*;

#[tokio::test]
async fn one_table_is_held_however_often_the_code_runs() -> Result<()> {
    let app = server().build()?;
    for (table, revision) in [(1, Revision::V2025_06_18), (2, Revision::V2025_11_25), (3, Revision::MODERN)] {
        let mut client = Client::builder(&app)
            .revision(revision)
            .can(Ability::ElicitationForm)
            .on_request(move |_, params| {
                assert_eq!(params["message"], format!("Table {table}, at noon: what may it be?"));
                Reply::accept(json!({"people": 4, "note": "a window"}))
            })
            .connect();
        let answer = client.call("reserve", json!({"when": "at noon"})).await;
        answer.assert_text(format!("Table {table} is yours, for 4 people (a window)."));
    }
    Ok(())
}

#[tokio::test]
async fn a_person_may_decline_and_a_client_may_be_unable_to_ask() -> Result<()> {
    let app = server().build()?;
    let mut client = Client::builder(&app).can(Ability::ElicitationForm).on_request(|_, _| Reply::decline()).connect();
    client.call("reserve", json!({"when": "now"})).await.assert_text("Nothing was reserved.");
    client.call("reserve", json!({})).await.assert_error_contains("`when`");
    let mut unable = Client::builder(&app).modern().connect();
    unable.call("reserve", json!({"when": "now"})).await.assert_fault(-32021);
    Ok(())
}
