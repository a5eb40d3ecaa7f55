//! A client with one request in flight, over whichever transport.

use serde_json::{Value, json};

use super::http::Http;
use super::message::{self, Era};
use super::pipe::Pipe;

pub(super) enum Client {
    Pipe(Pipe),
    Http(Http),
}

/// A whole list.
pub(super) struct List {
    pub(super) entries: usize,
    pub(super) pages: usize,
    /// Of all answers together.
    pub(super) bytes: usize,
}

impl Client {
    /// Sends a request and waits for its answer.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<&[u8]> {
        match self {
            Client::Pipe(pipe) => {
                pipe.send(method, params).await?;
                Ok(pipe.receive().await?.1)
            }
            Client::Http(http) => http.call(method, params).await,
        }
    }

    /// Waits for the answer to the first request of its era.
    pub(super) async fn greet(&mut self, era: Era) -> anyhow::Result<()> {
        let (method, params) = message::hello(era);
        message::check(self.call(method, params).await?, 0)
    }

    /// Says that the first answer was understood, where the era wants that.
    pub(super) async fn confirm(&mut self, era: Era) -> anyhow::Result<()> {
        const INITIALIZED: &str = "notifications/initialized";
        match (era, self) {
            (Era::Modern, _) => Ok(()),
            (Era::Legacy, Client::Pipe(pipe)) => pipe.notify(INITIALIZED).await,
            (Era::Legacy, Client::Http(http)) => http.notify(INITIALIZED).await,
        }
    }

    pub(super) async fn read(&mut self, uri: &str, least: usize) -> anyhow::Result<()> {
        message::check(self.call("resources/read", json!({ "uri": uri })).await?, least)
    }

    /// Lists every resource, page by page.
    pub(super) async fn list(&mut self) -> anyhow::Result<List> {
        let mut list = List { entries: 0, pages: 0, bytes: 0 };
        let mut params = json!({});
        loop {
            let answer = self.call("resources/list", params).await?;
            let page = message::page(answer)?;
            list.bytes += answer.len();
            list.entries += page.entries;
            list.pages += 1;
            match page.next {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(list),
            }
        }
    }
}
