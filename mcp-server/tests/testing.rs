//! The test client itself: that it shows what is there, and that its assertions fail where they should.

#[path = "testing/answers.rs"]
mod answers;
#[path = "testing/asking.rs"]
mod asking;
#[path = "testing/calls.rs"]
mod calls;
#[path = "testing/changes.rs"]
mod changes;
#[path = "testing/clock.rs"]
mod clock;
#[path = "testing/revisions.rs"]
mod revisions;
#[path = "testing/transcripts.rs"]
mod transcripts;

use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_server::schemars::{self, JsonSchema};
use mcp_server::{CallError, Json, Log, Progress, Server, Tool};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    steps: u32,
}

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

/// `add` (structured), `fail` (an error), `count` (progress and logs at each step, yielding), `stuck` (never ends).
fn server() -> Server {
    let count = async |progress: Progress, log: Log, Steps { steps }: Steps| {
        for step in 1..=steps {
            progress.say(step, steps, format!("step {step}"));
            log.info(json!({"step": step}));
            yields().await;
        }
        format!("counted to {steps}")
    };
    Server::new("test", "1.0.0")
        .tool(tool("add").run(|Add { a, b }: Add| Json(Sum { sum: a + b })))
        .tool(tool("fail").run(|| Err::<(), _>(CallError::new("no such city"))))
        .tool(tool("count").run(count))
        .tool(tool("stuck").run(std::future::pending::<()>))
}

/// Is ready at the second poll, as `tokio::task::yield_now`, on any executor.
async fn yields() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// What a failed test would show.
#[track_caller]
fn failure<T>(test: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(test)).map(drop).expect_err("it fails");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a text")).to_owned(),
    }
}
