//! A whole process on its standard input and output. This program is both the server and its test.
#![allow(missing_docs, clippy::print_stdout, reason = "it is its own test harness")]

mod support;

#[cfg(all(unix, feature = "tokio"))]
fn main() {
    unix::main();
}

#[cfg(not(all(unix, feature = "tokio")))]
fn main() {}

#[cfg(all(unix, feature = "tokio"))]
mod unix {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::support::{Tools, call, ids, legacy, messages, ping};

    /// The tests, each named for its behaviour.
    const TESTS: [(&str, fn()); 11] = [
        ("pipes_are_served_and_the_end_of_input_ends_the_process_stdio_4", pipes),
        ("files_are_served_to_their_end", files),
        ("a_socket_is_served", socket),
        ("sigterm_ends_the_process_soon_stdio_4", sigterm),
        ("sigterm_cancels_what_runs_stdio_4", sigterm_while_running),
        ("a_call_that_never_ends_does_not_keep_the_process_stdio_4", never),
        ("a_full_stderr_blocks_nothing_case_9", full_stderr),
        ("a_client_that_stops_reading_ends_the_process", broken_pipe),
        ("a_client_that_reads_nothing_loses_nothing_by_it", slow_reader),
        ("a_client_that_reads_nothing_and_closes_its_input_ends_the_process_stdio_4", deaf),
        ("pipes_are_blocking_again_afterwards", restored),
    ];

    /// The argument that makes this program the server, on a runtime of that many threads.
    const SERVE: &str = "--serve-threads";

    pub(super) fn main() {
        let args: Vec<String> = std::env::args().collect();
        if let [_, flag, threads] = &args[..]
            && flag == SERVE
        {
            return serve(threads.parse().unwrap());
        }
        let filter = args.iter().skip(1).find(|arg| !arg.starts_with('-'));
        for (name, test) in TESTS {
            if filter.is_none_or(|filter| name.contains(filter.as_str())) {
                test();
                println!("test {name} ... ok");
            }
        }
    }

    fn serve(threads: usize) {
        let mut runtime = match threads {
            1 => tokio::runtime::Builder::new_current_thread(),
            _ => tokio::runtime::Builder::new_multi_thread(),
        };
        let served = runtime.enable_all().build().unwrap().block_on(mcp_transport_stdio::stdio(Tools::new()));
        served.unwrap();
    }

    fn server(threads: usize) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([SERVE, &threads.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// Waits for the end, which must come soon and be a success.
    fn ends_within(mut child: Child, limit: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        panic!("it did not end within {limit:?}");
    }

    fn signal(child: &Child, name: &str) {
        assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    }

    fn first_line(child: &mut Child) -> String {
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }

    const SOON: Duration = Duration::from_secs(2);

    fn pipes() {
        for threads in [1, 2] {
            let mut child = server(threads).spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            let script = legacy((1..=2000).map(|id| call(id, "big", 200)).chain([call(2001, "sleep", 50)]));
            let writer = thread::spawn(move || input.write_all(script.as_bytes()).unwrap());
            let mut output = Vec::new();
            child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
            writer.join().unwrap();
            assert_eq!(ids(&output), (0..=2001).collect::<Vec<_>>());
            ends_within(child, SOON);
        }
    }

    fn files() {
        let folder = std::env::temp_dir().join(format!("mcp-stdio-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (from, to) = (folder.join("input"), folder.join("output"));
        std::fs::write(&from, legacy((1..=500).map(|id| call(id, "big", 1000)))).unwrap();
        let mut command = server(2);
        command.stdin(File::open(&from).unwrap()).stdout(File::create(&to).unwrap());
        ends_within(command.spawn().unwrap(), SOON);
        assert_eq!(messages(&std::fs::read(&to).unwrap()).len(), 501);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// As some clients do, and as a super-server does.
    fn socket() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let theirs = OwnedFd::from(theirs);
        let mut command = server(2);
        command.stdin(theirs.try_clone().unwrap()).stdout(theirs);
        let child = command.spawn().unwrap();
        drop(command);
        ours.write_all(legacy([call(1, "echo", 1)]).as_bytes()).unwrap();
        ours.shutdown(std::net::Shutdown::Write).unwrap();
        let mut output = Vec::new();
        ours.read_to_end(&mut output).unwrap();
        assert_eq!(ids(&output), [0, 1]);
        ends_within(child, SOON);
    }

    fn sigterm() {
        for name in ["-TERM", "-INT"] {
            let mut child = server(2).spawn().unwrap();
            child.stdin.as_mut().unwrap().write_all(legacy([ping(1)]).as_bytes()).unwrap();
            first_line(&mut child);
            signal(&child, name);
            ends_within(child, SOON);
        }
    }

    fn sigterm_while_running() {
        let mut child = server(1).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(legacy([call(1, "never", 0)]).as_bytes()).unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        signal(&child, "-TERM");
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).unwrap();
        assert_eq!(ids(&rest), [1], "it is told that its call will not end");
        ends_within(child, SOON);
    }

    fn never() {
        let mut child = server(2).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(legacy([call(1, "never", 0)]).as_bytes()).unwrap();
        first_line(&mut child);
        drop(child.stdin.take());
        ends_within(child, SOON);
    }

    fn full_stderr() {
        let (nobody, theirs) = std::io::pipe().unwrap();
        let mut command = server(2);
        command.stderr(theirs);
        let mut child = command.spawn().unwrap();
        let long = "z".repeat(200_000);
        let lines = (1..=3).map(|id| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"n":"{long}"}}}}}}"#
            )
        });
        let script = legacy(lines.chain(["{oops".into()]));
        let mut input = child.stdin.take().unwrap();
        let writer = thread::spawn(move || input.write_all(script.as_bytes()).unwrap());
        let mut output = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
        writer.join().unwrap();
        assert_eq!(ids(&output), [0, 1, 2, 3, -1]);
        ends_within(child, SOON);
        drop(command);
        assert_eq!(std::io::read_to_string(nobody).unwrap(), "", "nothing is written to stderr");
    }

    fn broken_pipe() {
        let mut child = server(2).spawn().unwrap();
        let input = child.stdin.as_mut().unwrap();
        input.write_all(legacy([call(1, "never", 0)]).as_bytes()).unwrap();
        first_line(&mut child);
        drop(child.stdout.take());
        child.stdin.as_mut().unwrap().write_all(format!("{}\n", ping(2)).as_bytes()).unwrap();
        ends_within(child, SOON);
    }

    /// Answers of 20 MB wait for a reader that comes late.
    fn slow_reader() {
        let mut child = server(2).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let script = legacy((1..=200).map(|id| call(id, "big", 100_000)));
        let writer = thread::spawn(move || {
            input.write_all(script.as_bytes()).unwrap();
            input
        });
        thread::sleep(Duration::from_millis(300));
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut seen = Vec::new();
        for _ in 0..=200 {
            let mut line = Vec::new();
            output.read_until(b'\n', &mut line).unwrap();
            seen.extend(ids(&line));
        }
        assert_eq!(seen, (0..=200).collect::<Vec<_>>());
        drop(writer.join().unwrap());
        ends_within(child, SOON);
    }

    /// Twice what may be unsent is asked for, none of it is read, and the end of input lies more than a pipe behind.
    fn deaf() {
        let mut child = server(2).spawn().unwrap();
        let script = legacy((1..=600).map(|id| call(id, "big", 100_000)));
        assert!((64 << 10..128 << 10).contains(&script.len()));
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        ends_within(child, SOON * 3);
    }

    /// The mode belongs to the pipe end, which a parent may hold as well.
    fn restored() {
        let (reader, mut input) = std::io::pipe().unwrap();
        let (mut output, writer) = std::io::pipe().unwrap();
        let mut command = server(2);
        command.stdin(reader.try_clone().unwrap()).stdout(writer.try_clone().unwrap());
        let child = command.spawn().unwrap();
        drop(command);
        input.write_all(legacy([ping(1)]).as_bytes()).unwrap();
        drop(input);
        ends_within(child, SOON);
        if cfg!(target_os = "linux") {
            use std::os::fd::AsRawFd as _;
            for fd in [reader.as_raw_fd(), writer.as_raw_fd()] {
                let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
                let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
                assert_eq!(u32::from_str_radix(flags, 8).unwrap() & 0o4000, 0, "O_NONBLOCK is off");
            }
        }
        drop(writer);
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).unwrap();
        assert_eq!(ids(&rest), [0, 1]);
    }
}
