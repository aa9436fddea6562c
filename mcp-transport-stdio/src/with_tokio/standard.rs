//! Standard input and output without a thread where the system allows it.
//!
//! A thread costs two changes of context a message, which is most of what a short call takes. A pipe or a socket can be asked
//! whether it is ready instead. It must be non-blocking for that, as a writer cannot know how much a pipe takes. The mode is
//! that of the open pipe end and not of this process alone, so it is set back at the end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};

use crate::threads::{self, ThreadReader, ThreadWriter};

/// Standard input.
pub(super) fn input() -> io::Result<Input> {
    #[cfg(unix)]
    if let Some(direct) = unix::receiver(&io::stdin()) {
        return Ok(Input::Direct(direct));
    }
    threads::stdin().map(Input::Thread)
}

/// Standard output.
pub(super) fn output() -> io::Result<Output> {
    #[cfg(unix)]
    if let Some(direct) = unix::sender(&io::stdout()) {
        return Ok(Output::Direct(direct));
    }
    threads::stdout().map(Output::Thread)
}

#[derive(Debug)]
pub(super) enum Input {
    #[cfg(unix)]
    Direct(unix::Direct<tokio::net::unix::pipe::Receiver>),
    Thread(ThreadReader),
}

#[derive(Debug)]
pub(super) enum Output {
    #[cfg(unix)]
    Direct(unix::Direct<tokio::net::unix::pipe::Sender>),
    Thread(ThreadWriter),
}

impl AsyncRead for Input {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            #[cfg(unix)]
            Self::Direct(direct) => Pin::new(direct).poll_read(cx, buf),
            Self::Thread(thread) => Pin::new(thread).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            #[cfg(unix)]
            Self::Direct(direct) => Pin::new(direct).poll_write(cx, buf),
            Self::Thread(thread) => Pin::new(thread).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            #[cfg(unix)]
            Self::Direct(direct) => Pin::new(direct).poll_flush(cx),
            Self::Thread(thread) => Pin::new(thread).poll_flush(cx),
        }
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            #[cfg(unix)]
            Self::Direct(direct) => Pin::new(direct).poll_close(cx),
            Self::Thread(thread) => Pin::new(thread).poll_close(cx),
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt as _;
    use std::os::unix::net;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use futures_io::{AsyncRead, AsyncWrite};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe::{Receiver, Sender};

    use crate::with_tokio::Compat;

    /// A stream that tells when it is ready. Gone only within `drop`.
    #[derive(Debug)]
    pub(in crate::with_tokio) enum Direct<P: Pipe> {
        Pipe(Option<Compat<P>>),
        Socket(Option<Compat<UnixStream>>),
    }

    /// One end of a pipe.
    pub(in crate::with_tokio) trait Pipe: Sized {
        /// Sets it back to blocking.
        fn restore(self);
    }

    impl Pipe for Receiver {
        fn restore(self) {
            // Whoever shares the pipe end can set it back as well; there is nobody to tell.
            drop(self.into_blocking_fd());
        }
    }

    impl Pipe for Sender {
        fn restore(self) {
            drop(self.into_blocking_fd());
        }
    }

    pub(super) fn receiver(standard: &impl AsFd) -> Option<Direct<Receiver>> {
        direct(standard, Receiver::from_file)
    }

    pub(super) fn sender(standard: &impl AsFd) -> Option<Direct<Sender>> {
        direct(standard, Sender::from_file)
    }

    /// `None` if the stream is neither a pipe nor a socket, or cannot be watched.
    fn direct<P: Pipe>(standard: &impl AsFd, pipe: fn(File) -> io::Result<P>) -> Option<Direct<P>> {
        let file = File::from(standard.as_fd().try_clone_to_owned().ok()?);
        let kind = file.metadata().ok()?.file_type();
        if kind.is_fifo() {
            return Some(Direct::Pipe(Some(Compat(pipe(file).ok()?))));
        }
        if !kind.is_socket() {
            return None;
        }
        let socket = net::UnixStream::from(std::os::fd::OwnedFd::from(file));
        socket.set_nonblocking(true).ok()?;
        Some(Direct::Socket(Some(Compat(UnixStream::from_std(socket).ok()?))))
    }

    impl<P: Pipe> Drop for Direct<P> {
        fn drop(&mut self) {
            match self {
                Self::Pipe(pipe) => pipe.take().map(|pipe| pipe.0.restore()).unwrap_or_default(),
                Self::Socket(socket) => {
                    if let Some(Ok(socket)) = socket.take().map(|socket| socket.0.into_std()) {
                        drop(socket.set_nonblocking(false));
                    }
                }
            }
        }
    }

    impl AsyncRead for Direct<Receiver> {
        fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
            match self.get_mut() {
                Self::Pipe(Some(pipe)) => Pin::new(pipe).poll_read(cx, buf),
                Self::Socket(Some(socket)) => Pin::new(socket).poll_read(cx, buf),
                Self::Pipe(None) | Self::Socket(None) => Poll::Ready(Ok(0)),
            }
        }
    }

    impl AsyncWrite for Direct<Sender> {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            match self.get_mut() {
                Self::Pipe(Some(pipe)) => Pin::new(pipe).poll_write(cx, buf),
                Self::Socket(Some(socket)) => Pin::new(socket).poll_write(cx, buf),
                Self::Pipe(None) | Self::Socket(None) => Poll::Ready(Ok(0)),
            }
        }

        /// Neither has a buffer of its own.
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            match self.get_mut() {
                Self::Pipe(Some(pipe)) => Pin::new(pipe).poll_close(cx),
                Self::Socket(Some(socket)) => Pin::new(socket).poll_close(cx),
                Self::Pipe(None) | Self::Socket(None) => Poll::Ready(Ok(())),
            }
        }
    }
}
