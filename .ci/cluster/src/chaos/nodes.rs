//! The processes: a redis-server, and the nodes.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use cluster::point::Point;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::world::PATIENCE;

type Result<T> = std::result::Result<T, String>;

/// Ends with this process, however that ends: the shell around it waits for the end of its input.
pub struct Redis {
    _child: Child,
    pub url: String,
}

const UNTIL_INPUT_ENDS: &str = r#""$@" </dev/null & trap 'kill $!; wait $!' EXIT; read -r _"#;

impl Redis {
    pub async fn start(program: &Path, log: &Path) -> Result<Self> {
        for _ in 0..5 {
            let port = free_port().await.map_err(|error| error.to_string())?;
            let out = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
            let err = out.try_clone().map_err(|error| error.to_string())?;
            let mut command = Command::new("sh");
            command.args(["-c", UNTIL_INPUT_ENDS, "sh"]).arg(program).args(["--port", &port.to_string()]);
            command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
            command.stdin(Stdio::piped()).stdout(out).stderr(err);
            let child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
            let url = format!("redis://127.0.0.1:{port}");
            if is_up(&url).await {
                return Ok(Self { _child: child, url });
            }
        }
        Err(format!("redis-server does not start: see {}", log.display()))
    }
}

async fn is_up(url: &str) -> bool {
    let Ok(client) = redis::Client::open(url) else { return false };
    for _ in 0..100 {
        if let Ok(mut connection) = client.get_multiplexed_async_connection().await {
            return redis::cmd("PING").query_async::<String>(&mut connection).await.is_ok();
        }
        sleep(Duration::from_millis(50)).await;
    }
    false
}

async fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port())
}

/// How a node is started.
#[derive(Clone)]
pub struct Plan {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Where the nodes' logs go.
    pub folder: PathBuf,
}

pub struct Node {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    pub addresses: Vec<SocketAddr>,
}

impl Node {
    pub async fn start(plan: &Plan, index: usize) -> Result<Self> {
        let log = File::options().create(true).append(true).open(plan.folder.join(format!("node-{index}.log")));
        let log = log.map_err(|error| error.to_string())?;
        let mut command = Command::new(&plan.program);
        command.args(&plan.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", plan.program.display()))?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
        let line = line(&mut output).await?;
        let addresses = line.strip_prefix("listening on ").map(|all| all.split(' ').map(str::parse).collect());
        let Some(Ok(addresses)) = addresses else { return Err(format!("a node said: {line}")) };
        Ok(Self { child, input, output, addresses })
    }

    /// Has it die when it has passed that point so often. False: it is dead already.
    pub async fn arm(&mut self, point: Point, passes: u32) -> bool {
        self.say(&format!("arm {point} {passes}")).await.is_ok()
    }

    /// Asks it something.
    pub async fn say(&mut self, word: &str) -> Result<String> {
        self.input.write_all(format!("{word}\n").as_bytes()).await.map_err(|error| error.to_string())?;
        line(&mut self.output).await
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// How it ended, if it does in time.
    pub async fn ended(&mut self, within: Duration) -> Option<std::process::ExitStatus> {
        timeout(within, self.child.wait()).await.ok()?.ok()
    }
}

async fn line(output: &mut Lines<BufReader<ChildStdout>>) -> Result<String> {
    match timeout(PATIENCE, output.next_line()).await {
        Ok(Ok(Some(line))) => Ok(line),
        Ok(Ok(None)) => Err("a node ended".into()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("a node said nothing for a minute".into()),
    }
}
