use mcp_server::json;
use mcp_server::testing::Client;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::*;

fn server() -> Server {
    Server::new("my-app", "1.0.0").tool(hello)
}

#[tokio::test]
async fn it_is_still_a_function() {
    assert_eq!(hello("Ada".into()).await, "Hello, Ada!");
}

#[tokio::test]
async fn it_says_hello_in_memory() -> mcp_server::Result<()> {
    let mut client = Client::new(&server().build()?);
    client.call("hello", json!({"name": "Ada"})).await.assert_text("Hello, Ada!");
    client.call("hello", json!({})).await.assert_error_contains("`name`: is required");
    Ok(())
}

/// A call as a client of 2026-07-28 makes it.
fn call() -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "hello", "arguments": {"name": "Ada"}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

#[tokio::test]
async fn it_says_hello_over_http() -> Result<(), Box<dyn std::error::Error>> {
    let listening = server().build()?.bind_http("127.0.0.1:0").await?;
    let address = listening.local_addr()?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(listening.serve_until(async { drop(stopped.await) }));
    let body = call();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: hello\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all((head + &body).as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("Hello, Ada!"), "{answer}");
    drop(stop);
    serving.await??;
    Ok(())
}

#[tokio::test]
async fn it_says_hello_over_stdio() -> Result<(), Box<dyn std::error::Error>> {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(far);
    let app = std::sync::Arc::new(server().build()?);
    tokio::spawn(mcp_transport_stdio::Connection::tokio(app).run_tokio(reader, writer));
    let (reader, mut writer) = tokio::io::split(near);
    writer.write_all((call() + "\n").as_bytes()).await?;
    let line = BufReader::new(reader).lines().next_line().await?.unwrap_or_default();
    assert!(line.contains("Hello, Ada!"), "{line}");
    Ok(())
}
