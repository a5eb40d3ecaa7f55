//! The stream on which a legacy server speaks unasked.

use std::{sync::atomic::Ordering, time::Duration};

use bytes::Bytes;
use reqwest::{
    Response,
    header::{ACCEPT, HeaderValue},
};
use tokio::time::Instant;
use trove_core::aside::aside;

use super::{LAST_EVENT, Shared, is_event_stream};
use crate::{
    sse::Parser,
    upstream::{
        events::{End, Events},
        meter::{CutOff, Noise},
    },
    wire,
};

/// A stream of unasked messages that ends sooner is opened later each time, up to so many doublings
/// of a fifth of a second.
const LONG_ENOUGH: Duration = Duration::from_secs(5);
const MAX_PATIENCE: u32 = 6;

impl Shared {
    /// Opens a stream on which a legacy server speaks unasked, or goes on after an event.
    pub(super) async fn open_unasked(&self, after: Option<&str>) -> Option<Response> {
        let mut headers = self.common_headers().await;
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = after.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT, id);
        }
        let response = self.client.get(&self.url).headers(headers).send().await.ok()?;
        (response.status().is_success() && is_event_stream(&response)).then_some(response)
    }

    /// Takes what came in one event of the unasked stream.
    async fn take_unasked(&self, data: &Bytes) -> Result<(), CutOff> {
        for text in aside(data.len(), || wire::messages(data)) {
            match aside(text.len(), || wire::parse(&text)) {
                Ok(message) => self.take(message, None, text.len()).await?,
                Err(_) => self.inbox.meter.message(Noise::NoMessages, text.len()).await?,
            }
        }
        Ok(())
    }

    /// Keeps the unasked stream open for as long as the server offers it.
    pub(super) async fn run_unasked(&self) {
        let mut ended_early = 0u32;
        let mut parser = Parser::new(self.longest);
        let mut was_open = false;
        loop {
            let Some(response) = self.open_unasked(parser.last_id.as_deref()).await else {
                if was_open {
                    // The server forgot the session, as after a restart.
                    break;
                }
                return;
            };
            if std::mem::replace(&mut was_open, true) {
                // Not every server remembers what it would have said meanwhile.
                self.inbox.note_gap().await;
            }
            parser = parser.anew();
            let began = Instant::now();
            self.is_deaf.store(false, Ordering::Release);
            let mut events =
                Events::new(response.bytes_stream(), &mut parser, self.inbox.meter.clone());
            let end = loop {
                match events.next().await {
                    Ok(event) if self.take_unasked(&event.data).await.is_ok() => {}
                    Ok(_) => break End::CutOff,
                    Err(end) => break end,
                }
            };
            self.is_deaf.store(true, Ordering::Release);
            if end == End::CutOff {
                // The life of this server closes the connection.
                return;
            }
            let was_stable = began.elapsed() >= LONG_ENOUGH;
            ended_early = if was_stable { 1 } else { (ended_early + 1).min(MAX_PATIENCE) };
            tokio::time::sleep(Duration::from_millis(200 << ended_early)).await;
        }
        // The server is not there any more; the life of this upstream begins anew.
        self.closed.cancel();
    }
}
