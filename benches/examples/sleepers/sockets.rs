//! Over real sockets: this process is the clients, and each server is a process of its own.
#![allow(clippy::print_stdout)]

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::report::Report;
use crate::rss;
use crate::time::Times;
use crate::world;

/// What a session that sleeps with an open GET may take over bare hyper.
const LISTENING: f64 = 512.0;
/// Files that each process needs beside its connections.
const SPARE: usize = 200;
/// Connections that are made before anything is measured.
const WARM: usize = 64;
/// How many are made at a time: the rest sleeps by then.
const WAVE: usize = 250;
/// How long sessions may take to fall asleep.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs in a process of its own. It ends when its input does.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    port: u16,
}

impl Server {
    fn start(arguments: &[&str]) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a child without pipes"));
        };
        let mut server = Self { child, stdin: Some(stdin), stdout: BufReader::new(stdout), port: 0 };
        server.port = server.line()?.try_into().map_err(io::Error::other)?;
        Ok(server)
    }

    fn line(&mut self) -> io::Result<usize> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        line.trim().parse().map_err(|_| io::Error::other(format!("the server says {line:?} and not a number")))
    }

    /// How many sleep; of bare hyper, how many listen.
    fn count(&mut self) -> io::Result<usize> {
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(b"\n")?;
        }
        self.line()
    }

    fn wait_for(&mut self, count: usize) -> io::Result<()> {
        let begin = Instant::now();
        loop {
            let now = self.count()?;
            if now == count {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("{now} of {count} sleep after {PATIENCE:?}")));
            }
            sleep(Duration::from_millis(20));
        }
    }

    fn resident(&self) -> u64 {
        rss::resident(&self.child.id().to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends when its input does.
        drop(self.stdin.take());
        drop(self.child.wait());
    }
}

/// One client: a connection, and the session that it has opened.
struct Client {
    stream: TcpStream,
    principal: String,
    session: String,
    read: Vec<u8>,
}

impl Client {
    /// Connects and opens a session, as the reference client does.
    fn open(port: u16, number: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let mut client = Self { stream, principal: world::principal(number), session: String::new(), read: Vec::new() };
        let head = client.post(world::INITIALIZE)?;
        client.session =
            header(&head, world::SESSION).ok_or_else(|| io::Error::other("a session without an id"))?.into();
        client.post(world::INITIALIZED)?;
        Ok(client)
    }

    /// One POST, and the head of its answer.
    fn post(&mut self, body: &str) -> io::Result<String> {
        let length = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        self.send("POST", &length, body)?;
        let head = self.head()?;
        let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while self.read.len() < length {
            self.more()?;
        }
        self.read.drain(..length);
        Ok(head)
    }

    /// Listens: reads the head and the first bytes of the stream.
    fn listen(&mut self) -> io::Result<()> {
        self.send("GET", "", "")?;
        self.head()?;
        while self.read.is_empty() {
            self.more()?;
        }
        self.read = Vec::new();
        Ok(())
    }

    fn send(&mut self, method: &str, headers: &str, body: &str) -> io::Result<()> {
        let session = match &*self.session {
            "" => String::new(),
            session => format!("{}: {session}\r\nmcp-protocol-version: 2025-11-25\r\n", world::SESSION),
        };
        let accept = if method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" };
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: {accept}\r\n{}: {}\r\n{session}{headers}\r\n{body}",
            world::PRINCIPAL,
            self.principal,
        );
        self.stream.write_all(request.as_bytes())
    }

    fn head(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.read.drain(..end + 4).collect();
                let head = String::from_utf8(head).map_err(io::Error::other)?;
                let good = head.starts_with("HTTP/1.1 200") || head.starts_with("HTTP/1.1 202");
                return if good { Ok(head) } else { Err(io::Error::other(head)) };
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> io::Result<()> {
        let mut buf = [0; 4096];
        match self.stream.read(&mut buf)? {
            0 => Err(io::Error::other("the server has closed a connection")),
            read => {
                self.read.extend_from_slice(&buf[..read]);
                Ok(())
            }
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// Clients that listen, their sessions asleep, in ours and in bare hyper.
pub(crate) fn listening(wanted: usize) -> io::Result<Report> {
    let most = files()?.saturating_sub(SPARE);
    let connections = wanted.min(most);
    if connections < wanted {
        println!("{:>9}  of {wanted}, as {most} files may be open: raise it with ulimit -n", connections);
    }
    let (floor, resident) = hold(&["serve", &connections.to_string()], connections)?;
    let mut report = Report::new(floor);
    report.bytes("ours, an open GET each, all asleep", resident, connections, None);
    let ours = resident.saturating_sub(floor);
    // The first decides: it is what a server holds that somebody else writes on hyper.
    let floors = [
        ("serve-hyper", "bare hyper, as its guide has it", Some(LISTENING)),
        ("serve-hyper-lean", "bare hyper, as lean as can be", None),
    ];
    for (server, name, goal) in floors {
        let (floor, resident) = hold(&[server], connections)?;
        Report::new(floor).bytes(name, resident, connections, None);
        report.over("ours over that", ours, resident.saturating_sub(floor), connections, goal);
    }
    Ok(report)
}

/// What a server holds before so many listen to it, and when they do.
fn hold(arguments: &[&str], connections: usize) -> io::Result<(u64, u64)> {
    let mut server = Server::start(arguments)?;
    let connect = |server: &Server, number| {
        let mut client = Client::open(server.port, number)?;
        client.listen()?;
        Ok::<_, io::Error>(client)
    };
    let mut clients = (0..WARM).map(|number| connect(&server, number)).collect::<io::Result<Vec<_>>>()?;
    server.wait_for(clients.len())?;
    let floor = server.resident();
    while clients.len() < connections + WARM {
        let wave = WAVE.min(connections + WARM - clients.len());
        for _ in 0..wave {
            clients.push(connect(&server, clients.len())?);
        }
        server.wait_for(clients.len())?;
    }
    Ok((floor, server.resident()))
}

/// One live session over HTTP while `few` sleep, and while `many` do: in turns, so that both meet the same machine.
pub(crate) fn http(few: usize, many: usize) -> io::Result<()> {
    const ROUNDS: usize = 1000;
    const CALLS: usize = 20;
    /// Rounds that warm up.
    const FIRST: usize = 50;
    let mut sides = Vec::new();
    for sleepers in [few, many] {
        let server = Server::start(&["serve-asleep", &sleepers.to_string()])?;
        let client = Client::open(server.port, sleepers)?;
        sides.push((server, client, Times::default()));
    }
    for round in 0..ROUNDS {
        for (_, client, times) in &mut sides {
            for _ in 0..CALLS {
                let begin = Instant::now();
                client.post(world::CALL)?;
                if round >= FIRST {
                    times.add(begin.elapsed());
                }
            }
        }
    }
    let medians: Vec<f64> = sides.iter_mut().map(|(_, _, times)| times.at(0.5)).collect();
    println!(
        "{many:>9}  a call over HTTP while they sleep: {:.1} µs, while {few} sleep {:.1}: {:.3} times, goal within 1.05   (medians)",
        medians[1],
        medians[0],
        medians[1] / medians[0],
    );
    Ok(())
}

/// How many files this process may open.
fn files() -> io::Result<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3)).and_then(|soft| soft.parse().ok());
    soft.ok_or_else(|| io::Error::other("the limit of open files is not said"))
}
