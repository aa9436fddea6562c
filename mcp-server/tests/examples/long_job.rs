use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test(start_paused = true)]
async fn it_tells_how_far_it_is_and_logs() -> Result<()> {
    let mut client = Client::new(&server().build()?);
    client.call("count", json!({"steps": 3})).await.assert_text("counted to 3");
    let progress: Vec<_> = client.take_progress().into_iter().map(|progress| progress.progress).collect();
    assert_eq!(progress, [1.0, 2.0, 3.0]);
    assert_eq!(client.take_logs().len(), 3);
    client.call("count", json!({"steps": 0})).await.assert_error_contains("`steps`");
    Ok(())
}

#[tokio::test]
async fn cancelling_ends_it_and_frees_the_thread_that_it_blocks() -> Result<()> {
    let mut client = Client::new(&server().build()?);
    client.call("divisor", json!({"number": 91})).await.assert_text("7");
    // A prime near 2^63 takes long.
    let call = client.start("divisor", json!({"number": 9_223_372_036_854_775_783_u64}));
    client.cancel(call);
    client.call("divisor", json!({"number": 4})).await.assert_text("2");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn what_watches_hears_that_the_call_was_called_off() -> Result<()> {
    let mut client = Client::new(&server().build()?);
    let call = client.start("watch", json!({}));
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    tokio::task::yield_now().await;
    assert_eq!(tasks(), 1);
    client.cancel(call);
    while tasks() > 0 {
        tokio::task::yield_now().await;
    }
    Ok(())
}
