//! The future of a response.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::ORIGIN;
use http::request::Parts;
use http::{HeaderValue, Response};
use mcp_core::Caller;

use crate::authenticate::Pending;
use crate::body::Body;
use crate::builder::Place;
use crate::cors;
use crate::service::{Received, Recipient, admit, check, post, receive, reject};
use crate::shared::Shared;
use crate::source::{Answered, Source, open};
use crate::upload::Upload;

pin_project_lite::pin_project! {
    /// A response on its way. Never fails: what goes wrong is a response too.
    pub struct Responding<B> {
        shared: Arc<Shared>,
        // Taken by the calls of a POST once its body is there.
        head: Option<Parts>,
        // To let web pages read the answer, if that is wanted.
        origin: Option<HeaderValue>,
        #[pin]
        body: B,
        step: Step,
    }
}

/// What has to happen next.
enum Step {
    Receive,
    Authenticate(Pending, Place),
    Upload(Caller, Upload, Recipient),
    Wait(Box<dyn Source>),
    Done,
}

impl<B> Responding<B> {
    pub(crate) fn new(shared: Arc<Shared>, head: Parts, body: B) -> Self {
        let origin = if shared.config.cors { head.headers.get(ORIGIN).cloned() } else { None };
        Self { shared, head: Some(head), origin, body, step: Step::Receive }
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
                    let Some(head) = this.head.as_ref() else { return Poll::Pending };
                    if let Some(refused) = check(this.shared, head) {
                        *this.step = Step::Done;
                        return Poll::Ready(Ok(refused));
                    }
                    match go_on(this.step, receive(this.shared, head, &this.body.size_hint(), cx)) {
                        Some(answered) => answered,
                        None => continue,
                    }
                }
                Step::Authenticate(pending, place) => {
                    let found = ready!(pending.poll(cx, &*this.shared.runtime));
                    let Some(head) = this.head.as_ref() else { return Poll::Pending };
                    let received = match found {
                        Ok(caller) => admit(this.shared, head, &this.body.size_hint(), caller, *place, cx),
                        Err(rejection) => Received::Answered(Answered::Now(reject(this.shared, rejection))),
                    };
                    match go_on(this.step, received) {
                        Some(answered) => answered,
                        None => continue,
                    }
                }
                Step::Upload(caller, upload, recipient) => {
                    let read = ready!(upload.poll(this.body.as_mut(), cx, &*this.shared.runtime));
                    let Some(head) = this.head.take() else { return Poll::Pending };
                    match read {
                        Ok(bytes) => post(this.shared, head, caller, recipient, bytes, cx),
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
        if let Some(origin) = this.origin.take() {
            cors::expose(&mut response, origin);
        }
        Poll::Ready(Ok(response))
    }
}

/// The answer, or the step that comes before it.
fn go_on(step: &mut Step, received: Received) -> Option<Answered> {
    *step = match received {
        Received::Answered(answered) => return Some(answered),
        Received::Authenticating(pending, place) => Step::Authenticate(pending, place),
        Received::Post(caller, upload, recipient) => Step::Upload(caller, upload, recipient),
    };
    None
}

impl<B> fmt::Debug for Responding<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responding")
            .field("method", &self.head.as_ref().map(|head| &head.method))
            .finish_non_exhaustive()
    }
}
