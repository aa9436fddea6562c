//! What the operator is told.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::support::*;

/// Keeps what is at least of that level.
#[derive(Clone)]
struct Kept(Arc<Mutex<String>>, Level);

impl Kept {
    fn from(level: Level) -> Self {
        Self(Arc::default(), level)
    }
}

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.1
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Line(&mut self.0.lock().unwrap()));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_refused_host_or_origin_is_logged_with_safe_texts_http_2() {
    let kept = Kept::from(Level::WARN);
    let _guard = tracing::subscriber::set_default(kept.clone());
    let service = service();
    let mut request = modern("tools/list", json!({}));
    request.headers_mut().insert("host", "rebound.example".parse().unwrap());
    let bidirectional = "http://evil\u{202E}.example";
    request.headers_mut().insert("origin", http::HeaderValue::from_bytes(bidirectional.as_bytes()).unwrap());
    assert_eq!(send(&service, request).await.status, 403);
    let kept = kept.0.lock().unwrap();
    assert!(kept.contains("rebound.example") && kept.contains("status=403"), "{kept}");
    assert!(!kept.contains('\u{202E}') && kept.contains("evil"), "{kept}");
}

#[tokio::test(start_paused = true)]
async fn who_falls_asleep_and_wakes_is_logged_without_its_id() {
    let kept = Kept::from(Level::DEBUG);
    let _guard = tracing::subscriber::set_default(kept.clone());
    let service = service();
    let session = open(&service).await;
    tokio::time::sleep(std::time::Duration::from_secs(61)).await;
    assert_eq!(send(&service, legacy(Some(&session), &ping(1))).await.status, 200);
    let kept = kept.0.lock().unwrap();
    assert!(kept.contains("a session went to sleep") && kept.contains("a session woke"), "{kept}");
    assert!(!kept.contains(&session), "{kept}");
}
