//! The future of a response.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::Response;
use http::header::ORIGIN;
use http::request::Parts;
use mcp_core::Caller;

use crate::body::Body;
use crate::cors;
use crate::service::{Received, check, post, receive};
use crate::shared::Shared;
use crate::source::{Answered, Source, open};
use crate::upload::Upload;

pin_project_lite::pin_project! {
    /// A response on its way. Never fails: what goes wrong is a response too.
    pub struct Responding<B> {
        shared: Arc<Shared>,
        head: Parts,
        #[pin]
        body: B,
        step: Step,
    }
}

/// What has to happen next.
enum Step {
    Receive,
    Upload(Caller, Upload),
    Wait(Box<dyn Source>),
    Done,
}

impl<B> Responding<B> {
    pub(crate) const fn new(shared: Arc<Shared>, head: Parts, body: B) -> Self {
        Self { shared, head, body, step: Step::Receive }
    }
}

impl<B> Future for Responding<B>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let mut response = loop {
            let answered = match this.step {
                Step::Receive => {
                    if let Some(refused) = check(this.shared, this.head) {
                        *this.step = Step::Done;
                        return Poll::Ready(Ok(refused));
                    }
                    match receive(this.shared, this.head, &this.body.size_hint(), cx) {
                        Received::Answered(answered) => answered,
                        Received::Post(caller, upload) => {
                            *this.step = Step::Upload(caller, upload);
                            continue;
                        }
                    }
                }
                Step::Upload(caller, upload) => {
                    match ready!(upload.poll(this.body.as_mut(), cx, &*this.shared.runtime)) {
                        Ok(bytes) => post(this.shared, this.head, caller, bytes, cx),
                        Err(fault) => Answered::Now(crate::answer::refuse(&fault)),
                    }
                }
                Step::Wait(source) => {
                    let reply = ready!(source.poll_open(cx));
                    let Step::Wait(source) = std::mem::replace(this.step, Step::Done) else { continue };
                    break open(&reply, source);
                }
                Step::Done => return Poll::Pending,
            };
            match answered {
                Answered::Now(response) => break response,
                // Its task is known already: it was looked at once.
                Answered::Later(source) => {
                    *this.step = Step::Wait(source);
                    return Poll::Pending;
                }
            }
        };
        *this.step = Step::Done;
        if this.shared.config.cors
            && let Some(origin) = this.head.headers.get(ORIGIN)
        {
            cors::expose(&mut response, origin.clone());
        }
        Poll::Ready(Ok(response))
    }
}

impl<B> fmt::Debug for Responding<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responding").field("method", &self.head.method).finish_non_exhaustive()
    }
}
