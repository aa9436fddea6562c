//! The command line.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt as _};
use tracing::Level;

/// What `--help` says.
pub(crate) const HELP: &str = "\
A Model Context Protocol server to try: a few tools, over Streamable HTTP or stdio.

Usage: demo [--http ADDR] [--allow-host HOST]... [--sse] [--log LEVEL]
       demo --stdio [--log LEVEL]

  --http ADDR        serve http://ADDR/mcp; a port alone is one of 127.0.0.1, and port 0
                     takes a free one [default: 127.0.0.1:8000]
  --stdio            serve standard input and output
  --allow-host HOST  answer to this host name, too; only loopback names are answered to
                     otherwise (may be given several times)
  --sse              serve the HTTP+SSE transport of 2024-11-05, which is deprecated, as
                     well: http://ADDR/sse
  --log LEVEL        what goes to stderr: off, error, warn, info, debug [default: warn]
  -h, --help         print this
  -V, --version      print the version
";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Version,
    Stdio { log: Option<Level> },
    Http { address: String, hosts: Vec<String>, sse: bool, log: Option<Level> },
}

/// The address without `--http`.
const ADDRESS: &str = "127.0.0.1:8000";

/// Reads the command line, without the program's name.
///
/// # Errors
///
/// A sentence that says what to do instead.
pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Task, String> {
    let mut parser = Parser::from_args(arguments);
    let (mut address, mut stdio, mut hosts, mut sse, mut log) = (None, false, Vec::new(), false, Some(Level::WARN));
    while let Some(argument) = parser.next().map_err(sentence)? {
        match argument {
            Arg::Long("http") => {
                address = Some(whole(&value(&mut parser, "--http", "an address, such as 127.0.0.1:8000")?)?)
            }
            Arg::Long("stdio") => stdio = true,
            Arg::Long("allow-host") => {
                hosts.push(value(&mut parser, "--allow-host", "a host name, such as mcp.example.com")?)
            }
            Arg::Long("sse") => sse = true,
            Arg::Long("log") => log = level(&value(&mut parser, "--log", "a level, such as info")?)?,
            Arg::Short('h') | Arg::Long("help") => return Ok(Task::Help),
            Arg::Short('V') | Arg::Long("version") => return Ok(Task::Version),
            other => return Err(sentence(other.unexpected())),
        }
    }
    match (stdio, address) {
        (true, Some(_)) => Err("--stdio and --http cannot be served by one process: give one of them".into()),
        (true, None) if !hosts.is_empty() => Err("--allow-host is about HTTP: leave it out with --stdio".into()),
        (true, None) if sse => Err("--sse is about HTTP: leave it out with --stdio".into()),
        (true, None) => Ok(Task::Stdio { log }),
        (false, address) => Ok(Task::Http { address: address.unwrap_or_else(|| ADDRESS.into()), hosts, sse, log }),
    }
}

fn value(parser: &mut Parser, flag: &str, what: &str) -> Result<String, String> {
    let missing = |_| format!("{flag} needs {what}");
    parser.value().map_err(missing)?.string().map_err(|_| format!("{flag} needs {what}, in UTF-8"))
}

/// `8000` is a port of loopback.
fn whole(address: &str) -> Result<String, String> {
    if address.parse::<u16>().is_ok() {
        return Ok(format!("127.0.0.1:{address}"));
    }
    match address.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(address.into()),
        _ => Err(format!(
            "--http {address}: an address is HOST:PORT, such as 127.0.0.1:8000 or [::1]:8000, or a port alone"
        )),
    }
}

fn level(name: &str) -> Result<Option<Level>, String> {
    match name {
        "off" => Ok(None),
        name => {
            name.parse().map(Some).map_err(|_| format!("--log {name}: levels are off, error, warn, info and debug"))
        }
    }
}

fn sentence(error: lexopt::Error) -> String {
    match error {
        lexopt::Error::UnexpectedArgument(argument) => format!("`{}` is not a flag", argument.display()),
        lexopt::Error::UnexpectedOption(flag) => format!("there is no flag {flag}"),
        lexopt::Error::UnexpectedValue { option, .. } => format!("{option} takes no value"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str) -> Result<Task, String> {
        read(line.split_whitespace().map(Into::into))
    }

    fn http(address: &str, hosts: &[&str]) -> Task {
        let hosts = hosts.iter().map(ToString::to_string).collect();
        Task::Http { address: address.into(), hosts, sse: false, log: Some(Level::WARN) }
    }

    #[test]
    fn without_flags_it_is_http_on_loopback_http_3() {
        assert_eq!(task(""), Ok(http("127.0.0.1:8000", &[])));
    }

    #[test]
    fn flags_say_where_and_how() {
        assert_eq!(task("--http 0.0.0.0:80 --allow-host a --allow-host=b"), Ok(http("0.0.0.0:80", &["a", "b"])));
        assert_eq!(task("--http=[::1]:0"), Ok(http("[::1]:0", &[])));
        assert_eq!(task("--http 9000"), Ok(http("127.0.0.1:9000", &[])));
        let sse = Task::Http { address: "127.0.0.1:0".into(), hosts: Vec::new(), sse: true, log: Some(Level::WARN) };
        assert_eq!(task("--sse --http 0"), Ok(sse));
        assert_eq!(task("--stdio --log debug"), Ok(Task::Stdio { log: Some(Level::DEBUG) }));
        assert_eq!(task("--stdio --log off"), Ok(Task::Stdio { log: None }));
        assert_eq!(task("--stdio --help"), Ok(Task::Help));
        assert_eq!(task("-V"), Ok(Task::Version));
    }

    #[test]
    fn a_mistake_is_answered_with_what_to_do() {
        for (line, said) in [
            ("--htpp", "there is no flag --htpp"),
            ("serve", "`serve` is not a flag"),
            ("--http", "--http needs an address, such as 127.0.0.1:8000"),
            (
                "--http localhost",
                "--http localhost: an address is HOST:PORT, such as 127.0.0.1:8000 or [::1]:8000, or a port alone",
            ),
            (
                "--http 1.2.3.4:99999",
                "--http 1.2.3.4:99999: an address is HOST:PORT, such as 127.0.0.1:8000 or [::1]:8000, or a port alone",
            ),
            ("--stdio --http 80", "--stdio and --http cannot be served by one process: give one of them"),
            ("--stdio --allow-host a", "--allow-host is about HTTP: leave it out with --stdio"),
            ("--stdio --sse", "--sse is about HTTP: leave it out with --stdio"),
            ("--stdio=yes", "--stdio takes no value"),
            ("--log loud", "--log loud: levels are off, error, warn, info and debug"),
        ] {
            assert_eq!(task(line), Err(said.into()), "{line}");
        }
    }
}
