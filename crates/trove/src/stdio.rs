//! Our own stdin and stdout, as streams that can be waited for.
//!
//! Clients give us pipes, or sockets in the case of Node; both can be polled. Anything
//! else, such as a terminal, is read by a helper thread.

use std::os::{
    fd::{AsFd, OwnedFd},
    unix::net::UnixStream as StdUnixStream,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{
        UnixStream,
        unix::pipe::{Receiver, Sender},
    },
};

pub(crate) type Input = Box<dyn AsyncRead + Unpin + Send>;
pub(crate) type Output = Box<dyn AsyncWrite + Unpin + Send>;

/// Opens both.
pub(crate) fn open() -> (Input, Output) {
    (input(), output())
}

fn input() -> Input {
    let own = || std::io::stdin().as_fd().try_clone_to_owned().ok();
    if let Some(pipe) = own().and_then(|fd| Receiver::from_owned_fd(fd).ok()) {
        return Box::new(pipe);
    }
    match own().and_then(socket) {
        Some(socket) => Box::new(socket),
        None => Box::new(tokio::io::stdin()),
    }
}

fn output() -> Output {
    let own = || std::io::stdout().as_fd().try_clone_to_owned().ok();
    if let Some(pipe) = own().and_then(|fd| Sender::from_owned_fd(fd).ok()) {
        return Box::new(pipe);
    }
    match own().and_then(socket) {
        Some(socket) => Box::new(socket),
        None => Box::new(tokio::io::stdout()),
    }
}

fn socket(fd: OwnedFd) -> Option<UnixStream> {
    let socket = StdUnixStream::from(fd);
    // Fails on anything that is no socket, before its mode is changed.
    socket.local_addr().ok()?;
    socket.set_nonblocking(true).ok()?;
    UnixStream::from_std(socket).ok()
}
