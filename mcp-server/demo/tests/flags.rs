//! The command line: what is said, where, and with which exit code.

mod common;

use common::{Http, run};

#[test]
fn help_and_version_go_to_stdout() {
    let (code, out, err) = run(&["--help"]);
    assert_eq!((code, &*err), (Some(0), ""));
    for flag in ["--http", "--stdio", "--allow-host", "--sse", "--log", "--help", "--version"] {
        assert!(out.contains(flag), "{flag}");
    }
    assert!(out.lines().all(|line| line.len() <= 90), "{out}");
    let (code, out, err) = run(&["--version"]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert_eq!(out, format!("demo {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_bad_flag_ends_with_code_2_and_what_to_do() {
    for (flags, said) in [
        (&["--prot", "8000"][..], "demo: there is no flag --prot\n"),
        (&["--http"], "demo: --http needs an address, such as 127.0.0.1:8000\n"),
        (&["--http", "nowhere"], "demo: --http nowhere: an address is HOST:PORT"),
        (&["--stdio", "--http", "8000"], "demo: --stdio and --http cannot be served by one process"),
        (&["serve"], "demo: `serve` is not a flag\n"),
    ] {
        let (code, out, err) = run(flags);
        assert_eq!((code, &*out), (Some(2), ""), "{flags:?}");
        assert!(err.starts_with(said), "{err}");
        assert!(err.ends_with("`demo --help` lists what there is\n"), "{err}");
    }
}

#[test]
fn an_address_that_cannot_be_had_ends_with_code_1_and_what_to_do() {
    let first = Http::open();
    let (code, out, err) = run(&["--http", &first.address]);
    assert_eq!((code, &*out), (Some(1), ""));
    assert!(err.starts_with(&format!("demo: cannot listen on {}: the port is in use: ", first.address)), "{err}");
    let (code, _, err) = run(&["--http", "192.0.2.1:8000"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("the address is not of this machine"), "{err}");
}

#[test]
fn a_host_that_cannot_be_one_ends_with_code_1_and_what_to_do() {
    let (code, _, err) = run(&["--http", "127.0.0.1:0", "--allow-host", "http://a/"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("allow_host(\"http://a/\"): give a host name"), "{err}");
}
