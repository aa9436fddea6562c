//! From the bytes of one `tools/call` to the bytes of its answer, beside the yardstick.
#![allow(missing_docs)]

use benches::{LEGACY, MODERN, Server, yardstick};
use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};

fn call(c: &mut Criterion) {
    let mut group = c.benchmark_group("tools/call");
    let modern = Bytes::from_static(MODERN.as_bytes());
    let legacy = Bytes::from_static(LEGACY.as_bytes());
    let mut out = Vec::with_capacity(1024);
    for (name, body) in [("yardstick, modern envelope", &modern), ("yardstick, legacy envelope", &legacy)] {
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                yardstick(body, &mut out);
            });
        });
    }
    for tools in [1, 1000] {
        let server = Server::new(tools);
        group.bench_function(format!("exchange, {tools} tools"), |b| {
            b.iter(|| {
                out.clear();
                server.exchange(&modern, &mut out);
            });
        });
        let mut pipe = server.pipe();
        for (name, body) in [("modern", &modern), ("legacy", &legacy)] {
            group.bench_function(format!("pipe, {name}, {tools} tools"), |b| {
                b.iter(|| {
                    out.clear();
                    server.drive(&mut pipe, body, None, &mut out);
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, call);
criterion_main!(benches);
