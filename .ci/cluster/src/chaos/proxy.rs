//! A round-robin proxy that knows nothing of sessions. Each client connection carries one request, so a choice per connection is
//! one per request. A node that cannot be connected to is passed over; what a dying node breaks is broken.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, Default)]
pub struct Targets(Arc<RwLock<Vec<Vec<SocketAddr>>>>);

impl Targets {
    pub fn set(&self, node: usize, addresses: Vec<SocketAddr>) {
        let mut targets = self.0.write().unwrap();
        if targets.len() <= node {
            targets.resize(node + 1, Vec::new());
        }
        targets[node] = addresses;
    }

    /// All of them, beginning with the next one in turn.
    fn from(&self, turn: usize) -> Vec<SocketAddr> {
        let mut all: Vec<SocketAddr> = self.0.read().unwrap().iter().flatten().copied().collect();
        let count = all.len().max(1);
        all.rotate_left(turn % count);
        all
    }
}

/// Starts it; it ends with the process.
pub async fn start(targets: Targets) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let turn = AtomicUsize::new(0);
        loop {
            let Ok((client, _)) = listener.accept().await else { continue };
            let order = targets.from(turn.fetch_add(1, Ordering::Relaxed));
            tokio::spawn(carry(client, order));
        }
    });
    Ok(address)
}

async fn carry(client: TcpStream, order: Vec<SocketAddr>) {
    let _ = client.set_nodelay(true);
    for address in order {
        if let Ok(node) = TcpStream::connect(address).await {
            let _ = node.set_nodelay(true);
            return between(client, node).await;
        }
    }
}

/// Either end's end is that of both.
async fn between(client: TcpStream, node: TcpStream) {
    let (from_client, to_client) = client.into_split();
    let (from_node, to_node) = node.into_split();
    tokio::select! {
        () = copy(from_client, to_node) => {}
        () = copy(from_node, to_client) => {}
    }
}

async fn copy(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin) {
    let mut buf = vec![0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buf).await {
        if to.write_all(&buf[..read]).await.is_err() {
            return;
        }
    }
}
