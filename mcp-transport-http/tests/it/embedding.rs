//! The service without tokio: on a runtime of a few lines, and by a future that is polled by hand.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mcp_transport_http::{McpService, Runtime, Task};
use serde_json::json;

use crate::support::*;

/// One thread for each task and sleep.
#[derive(Debug)]
struct Threads;

impl Runtime for Threads {
    fn spawn(&self, task: Task) {
        std::thread::spawn(|| block_on(task));
    }

    fn sleep(&self, span: Duration) -> Task {
        let done = Arc::new(Mutex::new((false, None::<Waker>)));
        let theirs = Arc::clone(&done);
        std::thread::spawn(move || {
            std::thread::sleep(span);
            let mut done = theirs.lock().unwrap();
            done.0 = true;
            done.1.take().into_iter().for_each(Waker::wake);
        });
        Box::pin(std::future::poll_fn(move |cx| {
            let mut done = done.lock().unwrap();
            done.1 = Some(cx.waker().clone());
            if done.0 { Poll::Ready(()) } else { Poll::Pending }
        }))
    }
}

#[derive(Default)]
struct Parker {
    woken: Mutex<bool>,
    bell: Condvar,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.bell.notify_one();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let parker = Arc::new(Parker::default());
    let waker = Waker::from(Arc::clone(&parker));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        let mut woken = parker.woken.lock().unwrap();
        while !std::mem::take(&mut *woken) {
            woken = parker.bell.wait(woken).unwrap();
        }
    }
}

fn on_threads() -> McpService {
    McpService::builder(Tools::new()).build(Threads).unwrap()
}

#[test]
fn both_eras_are_served_on_a_runtime_of_a_few_lines() {
    let service = on_threads();
    block_on(async {
        let session = open(&service).await;
        let got = send(&service, legacy_call(&session, 1, "thread", json!({"ms": 20}))).await;
        assert_eq!(result_text(&got.events()[1]), "from a thread");
        let got = send(&service, modern_call_with_progress("thread", json!({"ms": 20}))).await;
        assert_eq!(result_text(&got.events()[1]), "from a thread");
        let mut listening = service.handle(bare("GET", &session)).await.into_body();
        assert!(frame(&mut listening).await.is_some());
        service.shutdown(Duration::ZERO).await;
        assert_eq!(frame(&mut listening).await, None);
    });
}

#[test]
fn a_request_that_is_answered_at_once_needs_one_poll_and_no_runtime() {
    #[derive(Debug)]
    struct None;

    impl Runtime for None {
        fn spawn(&self, _: Task) {
            panic!("spawned");
        }

        fn sleep(&self, _: Duration) -> Task {
            panic!("slept");
        }
    }

    let service = McpService::builder(Tools::new()).build(None).unwrap();
    let poll = |request| {
        let mut response = pin!(service.handle(request));
        match response.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => response,
            Poll::Pending => panic!("not ready"),
        }
    };
    assert_eq!(poll(modern_call("echo", json!({"text": 1}))).status(), 200);
    assert_eq!(poll(modern("server/discover", json!({}))).status(), 200);
    assert_eq!(poll(bare("GET", "gone")).status(), 404);
}

#[tokio::test]
async fn it_is_a_tower_service_for_any_body() {
    use tower_service::Service;
    let mut service = service();
    std::future::poll_fn(|cx| Service::<http::Request<String>>::poll_ready(&mut service, cx)).await.unwrap();
    let (head, _) = modern("tools/list", json!({})).into_parts();
    let request = http::Request::from_parts(head, modern_body("tools/list", json!({})).to_string());
    assert_eq!(service.call(request).await.unwrap().status(), 200);
}

#[tokio::test]
async fn the_watch_ends_with_the_service() {
    let service = service();
    open(&service).await;
    let metrics = tokio::runtime::Handle::current().metrics();
    assert_eq!(metrics.num_alive_tasks(), 1);
    drop(service);
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if metrics.num_alive_tasks() == 0 {
            return;
        }
    }
    panic!("the watch goes on");
}

#[test]
fn the_service_fits_where_frameworks_want_it() {
    fn shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    fn body<T: http_body::Body<Data = bytes::Bytes> + Send + 'static>(_: &T) {}
    fn sent<T: Send>(future: T) -> T {
        future
    }
    let service = on_threads();
    shared(&service);
    let response = block_on(sent(service.handle(modern("tools/list", json!({})))));
    body(response.body());
}

#[tokio::test(start_paused = true)]
async fn hypers_executors_and_timers_are_a_runtime() {
    use hyper_util::rt::{TokioExecutor, TokioTimer};
    use mcp_transport_http::HyperRuntime;
    let runtime = HyperRuntime::new(TokioExecutor::new(), TokioTimer::new());
    let service = McpService::builder(Tools::new()).build(runtime).unwrap();
    let session = open(&service).await;
    let got = send(&service, legacy_call(&session, 1, "slow", json!({"ms": 16_000}))).await;
    assert_eq!(result_text(&got.events()[0]), "slow null");
}
