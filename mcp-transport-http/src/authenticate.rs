//! Who asks: found out by the host's own code, from the head of a request.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::request::Parts;
use mcp_core::Caller;

use crate::rejection::Rejection;
use crate::runtime::{Runtime, Task};

/// Finds out who sends a request, from its head: [`Builder::authenticate`](crate::Builder::authenticate).
///
/// It is asked for each request, also those of a session that is open, for every method but OPTIONS, and over both transports
/// (AUTH-11): after Host, Origin and path were checked, and before anything of the body is read (AUTH-4). A caller without a
/// principal is nobody in particular, and finds what needs no scope.
///
/// Closures are authenticators whose result becomes an [`Authenticating`]: a [`Caller`], a [`Result`] with one or with an
/// `Option<Caller>`, where `None` is nobody in particular; or an `Authenticating` itself, in a `Result` or not.
///
/// ```
/// use http::request::Parts;
/// use mcp_core::{Caller, Scopes};
/// use mcp_transport_http::{Authenticating, Rejection, bearer};
/// # #[derive(Clone)] struct Tokens;
/// # impl Tokens { async fn owner(&self, _: &str) -> Option<String> { None } }
/// # fn example(builder: mcp_transport_http::Builder, tokens: Tokens) -> mcp_transport_http::Builder {
///
/// builder.authenticate(move |head: &Parts| {
///     let token = bearer(head)?.ok_or_else(Rejection::unauthorized)?;
///     let (tokens, token) = (tokens.clone(), token.to_owned());
///     Ok(Authenticating::later(async move {
///         let owner = tokens.owner(&token).await.ok_or_else(|| Rejection::invalid_token("it is unknown or has expired"))?;
///         Ok(Caller::new(format!("sub:{owner}"), Scopes::parse("notes:read")))
///     }))
/// })
/// # }
/// ```
///
/// # Names of principals
///
/// Sessions, sealed state and rate limits belong to a principal by its name alone. So each name should tell where it is from,
/// as `sub:ada` for a token's subject and `client_id:reports` for a client's own token, that no two can be taken for one
/// another. Where all that is known is a shared secret, the name is a digest of it and never the secret: names are stored and
/// logged.
pub trait Authenticator: Send + Sync + 'static {
    /// Says who sent the request with that head, or why nobody is served.
    ///
    /// One that panics is answered with 500, and one that takes longer than
    /// [`Builder::authentication_time`](crate::Builder::authentication_time) with 503.
    fn authenticate(&self, head: &Parts) -> Authenticating;
}

impl<F, R> Authenticator for F
where
    F: Fn(&Parts) -> R + Send + Sync + 'static,
    R: Into<Authenticating>,
{
    fn authenticate(&self, head: &Parts) -> Authenticating {
        self(head).into()
    }
}

/// Who asks, or the future that finds it out.
pub enum Authenticating {
    /// It is known.
    Ready(Result<Caller, Rejection>),
    /// It takes a while, as where another server is asked. Dropped if the client leaves meanwhile.
    Later(Pin<Box<dyn Future<Output = Result<Caller, Rejection>> + Send>>),
}

impl Authenticating {
    /// What that future finds out. It owns all it needs: the head is lent to the [authenticator](Authenticator) only.
    pub fn later(future: impl Future<Output = Result<Caller, Rejection>> + Send + 'static) -> Self {
        Self::Later(Box::pin(future))
    }
}

impl From<Caller> for Authenticating {
    fn from(caller: Caller) -> Self {
        Self::Ready(Ok(caller))
    }
}

impl From<Result<Caller, Rejection>> for Authenticating {
    fn from(found: Result<Caller, Rejection>) -> Self {
        Self::Ready(found)
    }
}

impl From<Result<Option<Caller>, Rejection>> for Authenticating {
    fn from(found: Result<Option<Caller>, Rejection>) -> Self {
        Self::Ready(found.map(Option::unwrap_or_default))
    }
}

impl From<Result<Self, Rejection>> for Authenticating {
    fn from(begun: Result<Self, Rejection>) -> Self {
        begun.unwrap_or_else(|rejection| Self::Ready(Err(rejection)))
    }
}

impl fmt::Debug for Authenticating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(found) => f.debug_tuple("Ready").field(found).finish(),
            Self::Later(_) => f.debug_struct("Later").finish_non_exhaustive(),
        }
    }
}

/// The token of `Authorization: Bearer`; `None` without that header, or where it is of another scheme. A token in the URI is
/// none (AUTH-11).
///
/// # Errors
///
/// 400 for a header that is malformed, and for two of them (AUTH-4, RFC 6750).
pub fn bearer(head: &Parts) -> Result<Option<&str>, Rejection> {
    let mut headers = head.headers.get_all(AUTHORIZATION).iter();
    let Some(header) = headers.next() else { return Ok(None) };
    if headers.next().is_some() {
        return Err(Rejection::malformed("there is more than one `Authorization` header"));
    }
    let credentials = header.to_str().ok().and_then(|header| header.trim().split_once(' '));
    match credentials {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("Bearer") => match token.trim_start() {
            token if is_token(token) => Ok(Some(token)),
            _ => Err(Rejection::malformed("what follows `Bearer` is no token")),
        },
        Some(_) => Ok(None),
        None => Err(Rejection::malformed("send `Authorization: Bearer <token>`")),
    }
}

/// The `b64token` of RFC 6750.
fn is_token(text: &str) -> bool {
    let characters = text.trim_end_matches('=');
    !characters.is_empty() && characters.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

/// Asks an authenticator.
pub(crate) fn ask(authenticator: &dyn Authenticator, head: &Parts) -> Authenticating {
    guarded(|| authenticator.authenticate(head)).unwrap_or_else(|rejection| Authenticating::Ready(Err(rejection)))
}

/// An authentication that takes a while, but not for ever.
pub(crate) struct Pending {
    future: Pin<Box<dyn Future<Output = Result<Caller, Rejection>> + Send>>,
    span: Duration,
    /// When it must be done. Set once it has to be waited for.
    timer: Option<Task>,
}

impl Pending {
    pub(crate) fn new(future: Pin<Box<dyn Future<Output = Result<Caller, Rejection>> + Send>>, span: Duration) -> Self {
        Self { future, span, timer: None }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, runtime: &dyn Runtime) -> Poll<Result<Caller, Rejection>> {
        match guarded(|| self.future.as_mut().poll(cx)) {
            Ok(Poll::Ready(found)) => Poll::Ready(found),
            Ok(Poll::Pending) => {
                let timer = self.timer.get_or_insert_with(|| runtime.sleep(self.span));
                timer.as_mut().poll(cx).map(|()| {
                    tracing::warn!(ms = self.span.as_millis(), "an authentication took too long and was given up");
                    Err(Rejection::unavailable())
                })
            }
            Err(rejection) => Poll::Ready(Err(rejection)),
        }
    }
}

/// Runs the host's code that decides on a request. If it panics nobody is let in, and nobody but the log sees why.
pub(crate) fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, Rejection> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|_| {
        tracing::error!("the code that decides who is served panicked");
        Rejection::failed()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[&str]) -> Result<Option<String>, u16> {
        let request = headers
            .iter()
            .fold(http::Request::get("/?access_token=q"), |request, header| request.header(AUTHORIZATION, *header));
        let (head, ()) = request.body(()).unwrap().into_parts();
        let status = |rejection: Rejection| rejection.into_response(None).status().as_u16();
        bearer(&head).map(|token| token.map(Into::into)).map_err(status)
    }

    #[test]
    fn one_bearer_token_is_taken_from_the_header_alone_auth_4_auth_11() {
        assert_eq!(of(&[]), Ok(None), "a token in the URI is none");
        assert_eq!(of(&["Bearer abc.d-e_f~g+h/i=="]), Ok(Some("abc.d-e_f~g+h/i==".into())));
        assert_eq!(of(&["bEARER   abc"]), Ok(Some("abc".into())), "schemes have no case");
        assert_eq!(of(&["Basic dXNlcjp3b3Jk"]), Ok(None), "another scheme is for other code");
        for malformed in
            ["", "garbage", "Bearer", "Bearer ", "Bearer a b", "Bearer a, Bearer b", "Bearer =", "Bearer \"a\""]
        {
            assert_eq!(of(&[malformed]), Err(400), "{malformed:?}");
        }
        assert_eq!(of(&["Bearer abc", "Bearer abc"]), Err(400), "two headers, be they the same");
        assert_eq!(of(&["Basic abc", "Bearer abc"]), Err(400));
    }
}
