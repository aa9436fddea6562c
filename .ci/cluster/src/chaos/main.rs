//! Two server processes, a proxy that knows nothing, a thousand clients that believe nothing, and somebody who kills.

mod client;
mod flow;
mod history;
mod kills;
mod nodes;
mod proxy;
mod sse;
mod verdict;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use tokio::task::JoinSet;
use tokio::time::sleep;

use client::Client;
use kills::{Kills, Phase};
use nodes::{Plan, Redis};
use proxy::Targets;
use verdict::Verdict;
use world::World;

const HELP: &str = "\
chaos --redis-server PROGRAM [--seed N] [--kills N] [--sessions N] [--thinks MS] [--lease-ms N] [--hibernate-ms N]
      [--nodes N] [--logs FOLDER] [--memory] [--then COMMAND..]

--seed      chooses histories and kills; by the clock if it is not given. It is printed first.
--memory    both nodes in one process, whose memory is their store: kills must be found out.
--then      runs that command first, with the redis-server's URL in MCP_REDIS; what it prints is printed.
";

struct Args {
    redis_server: PathBuf,
    seed: u64,
    kills: u32,
    sessions: u64,
    thinks: u64,
    lease: u64,
    hibernate: u64,
    nodes: usize,
    logs: PathBuf,
    memory: bool,
    then: Vec<String>,
}

fn args() -> Result<Args, lexopt::Error> {
    use lexopt::prelude::*;
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut args = Args {
        redis_server: "redis-server".into(),
        seed: clock.as_micros() as u64,
        kills: 200,
        sessions: 1000,
        thinks: 5000,
        lease: 1000,
        hibernate: 1000,
        nodes: 2,
        logs: std::env::temp_dir(),
        memory: false,
        then: Vec::new(),
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("redis-server") => args.redis_server = parser.value()?.into(),
            Long("seed") => args.seed = parser.value()?.parse()?,
            Long("kills") => args.kills = parser.value()?.parse()?,
            Long("sessions") => args.sessions = parser.value()?.parse()?,
            Long("thinks") => args.thinks = parser.value()?.parse()?,
            Long("lease-ms") => args.lease = parser.value()?.parse()?,
            Long("hibernate-ms") => args.hibernate = parser.value()?.parse()?,
            Long("nodes") => args.nodes = parser.value()?.parse()?,
            Long("logs") => args.logs = parser.value()?.into(),
            Long("memory") => args.memory = true,
            Long("then") => {
                args.then = parser.raw_args()?.map(|arg| arg.string()).collect::<Result<_, _>>()?;
            }
            Long("help") => {
                print!("{HELP}");
                std::process::exit(0);
            }
            _ => return Err(arg.unexpected()),
        }
    }
    Ok(args)
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    // Three sockets for each connection of each client.
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
    let terminated = async {
        let signals = [tokio::signal::unix::SignalKind::terminate(), tokio::signal::unix::SignalKind::interrupt()];
        let [mut terminate, mut interrupt] = signals.map(|kind| tokio::signal::unix::signal(kind).expect("signals"));
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    };
    let verdict = tokio::select! {
        verdict = run(&args) => verdict,
        () = terminated => Err("interrupted".into()),
    };
    match verdict {
        Ok(verdict) => {
            let again = format!("chaos --seed {} --kills {} --sessions {}", args.seed, args.kills, args.sessions);
            if verdict.print(&again) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("the suite could not run: {error}\n0 passed, 1 failed");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<Verdict, String> {
    println!("seed {}: {} sessions, {} kills, {} nodes", args.seed, args.sessions, args.kills, args.nodes);
    std::fs::create_dir_all(&args.logs).map_err(|error| format!("{}: {error}", args.logs.display()))?;
    let redis = Redis::start(&args.redis_server, &args.logs.join("redis.log")).await?;
    let mut verdict = Verdict::default();
    if let [program, arguments @ ..] = &args.then[..] {
        let status = Command::new(program).args(arguments).env("MCP_REDIS", &redis.url).status();
        let passed = status.is_ok_and(|status| status.success());
        verdict.check(passed, "the store's contract tests", "see above");
    }
    let mut rng = Rng::with_seed(args.seed);
    let targets = Targets::default();
    let address = proxy::start(targets.clone()).await.map_err(|error| error.to_string())?;
    let mut kills = start_nodes(args, &redis, targets, rng.fork()).await?;

    let world = Arc::new(World::new(address));
    for _ in 0..8 {
        let toucher = Client::open(&world, history::mark(&mut rng), "2025-11-25").await?;
        world.touchers.lock().unwrap().push(Arc::new(toucher));
    }
    let mut sessions = JoinSet::new();
    for number in 0..args.sessions {
        // Some are busy, most are not.
        let thinks = args.thinks * [1, 1, 1, 4][number as usize % 4];
        sessions.spawn(history::live(Arc::clone(&world), rng.u64(..), thinks));
    }
    while world.stats.opened.load(Ordering::Relaxed) < args.sessions && world.failures.lock().unwrap().is_empty() {
        sleep(Duration::from_millis(100)).await;
    }
    println!("{} sessions are open", args.sessions);
    kills.run(args.kills).await?;
    if args.kills > 0 {
        for signal in [Signal::SIGTERM, Signal::SIGKILL, Signal::SIGTERM] {
            println!("all nodes at once: {signal}");
            kills.restart(signal).await?;
            sleep(Duration::from_secs(3)).await;
        }
    } else {
        sleep(Duration::from_secs(20)).await;
    }
    println!("settling");
    world.settling.store(true, Ordering::Relaxed);
    while sessions.join_next().await.is_some() {}

    verdict.sessions(&world, args.sessions);
    verdict.cancelled(&world, &mut kills.nodes).await;
    verdict.runs(&world, &redis.url).await?;
    verdict.kills(&kills, args.kills);
    verdict.coverage(&world, args.kills);
    Ok(verdict)
}

async fn start_nodes(args: &Args, redis: &Redis, targets: Targets, rng: Rng) -> Result<Kills, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("node");
    let mut arguments = vec!["--redis".to_owned(), redis.url.clone()];
    arguments.extend(["--lease-ms".to_owned(), args.lease.to_string()]);
    arguments.extend(["--hibernate-ms".to_owned(), args.hibernate.to_string()]);
    arguments.extend(args.memory.then(|| "--memory".to_owned()));
    let mut kills = Kills {
        nodes: Vec::new(),
        plan: Plan { program, arguments, folder: args.logs.clone() },
        targets,
        rng,
        lease: Duration::from_millis(args.lease),
        counts: BTreeMap::<Phase, u32>::new(),
        points: BTreeMap::new(),
        faults: Vec::new(),
    };
    // The nodes of one memory are in one process.
    for index in 0..if args.memory { 1 } else { args.nodes } {
        let _ = std::fs::remove_file(args.logs.join(format!("node-{index}.log")));
        kills.start(index).await?;
    }
    Ok(kills)
}
