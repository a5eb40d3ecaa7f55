//! Each server's budget of work that none of our requests asked for.
//!
//! Every reader of a server's bytes passes through one [`Meter`]. All work is counted, so that a
//! reader steps aside for others many times within a large message. Unasked work is also paid for,
//! e.g. notifications, requests to us, lines that are no messages, comments and stderr. A server
//! that sends more than its budget is read slowly, which holds it by its full pipe. One that goes
//! on is cut off. A unit of work takes about as long as it takes to parse one byte twice.

#[cfg(test)]
mod tests;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::watch, time::Instant};

use crate::bounds::Unasked;

/// How much work is done before others have their turn.
pub(crate) const TURN: u64 = 8 * 1024;
/// The work that comes with a message, beside its bytes.
const MESSAGE: u64 = 256;
/// The work that comes with an answer of ours to a question of a server.
const REPLY: u64 = 1024;
/// How many bytes of a message that was asked for are one unit.
const ASKED_BYTES: u64 = 8;
/// How many bytes that are only passed over are one unit.
const SKIPPED_BYTES: u64 = 16;
/// How many bytes of stderr are one unit.
const STDERR_BYTES: u64 = 8;
/// The work that comes with a line of it.
const STDERR_LINE: u64 = 16;
/// Notices that a request waits for cost so many times less.
const WANTED: u64 = 8;
/// The budget that comes with each request of ours: servers log and report what they do for us.
const A_REQUEST: u64 = 4 * 1024;
/// A reader that must wait does not come back earlier, so that it does not wake for each message.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
/// A server on probation has this part of the budget.
const PROBATION: u64 = 8;
/// A server that was slowed is calm again when it has let this part of its budget come together.
const CALM: i64 = 32;
/// A calm server has saved at least its earnings of this part of a second, i.e. of a fifth.
const CALM_PAUSES_A_SECOND: u64 = 5;

/// A kind of unasked work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    Notifications,
    Requests,
    /// Answers to requests that we did not make.
    Answers,
    /// Lines or events that are no messages.
    NoMessages,
    /// Progress and log messages of a request.
    Notices,
    /// Blank lines, comments, ids and empty chunks.
    Empty,
    Stderr,
}

const KINDS: usize = 7;

impl Noise {
    fn words(self) -> &'static str {
        match self {
            Noise::Notifications => "notifications",
            Noise::Requests => "requests to us",
            Noise::Answers => "answers to requests we did not make",
            Noise::NoMessages => "lines that are no messages",
            Noise::Notices => "progress and log messages",
            Noise::Empty => "blank lines, comments and empty events",
            Noise::Stderr => "lines on stderr",
        }
    }

    const ALL: [Noise; KINDS] = [
        Noise::Notifications,
        Noise::Requests,
        Noise::Answers,
        Noise::NoMessages,
        Noise::Notices,
        Noise::Empty,
        Noise::Stderr,
    ];
}

/// How a server stands with its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Calm,
    /// It has used up its budget and is read slowly.
    Slowed,
    /// It went on; nothing of it is read any more.
    CutOff(Noise),
}

/// The connection was cut off, so its reader ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CutOff;

/// The budget of one server; it outlives connections.
#[derive(Debug)]
pub(crate) struct Meter {
    bounds: Unasked,
    account: Mutex<Account>,
    /// Work since others last had their turn.
    turn: AtomicU64,
    standing: watch::Sender<Standing>,
}

#[derive(Debug)]
struct Account {
    /// The budget that is left, below 0 while the server is slowed.
    left: i64,
    as_of: Instant,
    /// Work paid for since there was nothing left, while the server is not calm.
    excess: u64,
    /// The work used, by kind, since the server was last calm.
    used: [u64; KINDS],
    /// It was cut off before, and has not been calm for as long as a full budget takes since then.
    on_probation: bool,
}

impl Meter {
    pub(crate) fn new(bounds: Unasked) -> Meter {
        let account = Account {
            left: signed(bounds.bytes),
            as_of: Instant::now(),
            excess: 0,
            used: [0; KINDS],
            on_probation: false,
        };
        let standing = watch::Sender::new(Standing::Calm);
        Meter { bounds, account: Mutex::new(account), turn: AtomicU64::new(0), standing }
    }

    /// How the server stands, now and from now on.
    pub(crate) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// The noise for which the server was cut off, if it was.
    pub(crate) fn noise_of_cut(&self) -> Option<Noise> {
        match *self.standing.borrow() {
            Standing::CutOff(noise) => Some(noise),
            Standing::Calm | Standing::Slowed => None,
        }
    }

    /// Another connection begins. After a cut it has a small budget, until it has been calm.
    pub(crate) fn begin(&self) {
        let mut account = self.account();
        self.refill(&mut account, Duration::MAX);
        if self.noise_of_cut().is_some() {
            account.on_probation = true;
        }
        if account.on_probation {
            account.left = self.most(&account) / 2;
            account.excess = 0;
            account.used = [0; KINDS];
        }
        self.standing.send_replace(Standing::Calm);
    }

    /// A request goes out: a server's messages about its work on it are part of the work.
    pub(crate) fn note_request(&self) {
        let mut account = self.account();
        account.left = (account.left + signed(A_REQUEST)).min(self.most(&account));
    }

    /// Counts work that was asked for: so many bytes of a message, or of a body.
    pub(crate) async fn asked(&self, bytes: usize) {
        self.take_turn(MESSAGE / ASKED_BYTES + bytes as u64 / ASKED_BYTES).await;
    }

    /// Pays for an unasked message of so many bytes.
    pub(crate) async fn message(&self, noise: Noise, bytes: usize) -> Result<(), CutOff> {
        let units = match noise {
            Noise::Notices => (MESSAGE + bytes as u64) / WANTED,
            Noise::Requests => MESSAGE + REPLY + bytes as u64,
            _ => MESSAGE + bytes as u64,
        };
        self.pay(noise, units).await
    }

    /// Pays for so many bytes that say nothing and come in small parts.
    pub(crate) async fn empty(&self, bytes: usize) -> Result<(), CutOff> {
        self.pay(Noise::Empty, bytes as u64).await
    }

    /// Pays for so many bytes of a message that is too long, which are passed over.
    pub(crate) async fn skipped(&self, bytes: usize) -> Result<(), CutOff> {
        self.pay(Noise::NoMessages, bytes as u64 / SKIPPED_BYTES).await
    }

    /// Pays for so many bytes of stderr.
    pub(crate) async fn stderr(&self, bytes: usize) -> Result<(), CutOff> {
        self.pay(Noise::Stderr, STDERR_LINE + bytes as u64 / STDERR_BYTES).await
    }

    /// Pays, and comes back once the reader may go on.
    async fn pay(&self, noise: Noise, units: u64) -> Result<(), CutOff> {
        let pause = self.charge(noise, units)?;
        match pause {
            Some(pause) => {
                tokio::time::sleep(pause).await;
                // A machine that wakes the reader late has not made the server any calmer.
                self.refill(&mut self.account(), pause);
            }
            None => self.take_turn(units).await,
        }
        // Another reader of the same server may have gone too far meanwhile.
        if self.noise_of_cut().is_some() {
            return Err(CutOff);
        }
        Ok(())
    }

    /// Takes work from the budget; says how long the reader must pause, if it must.
    fn charge(&self, noise: Noise, units: u64) -> Result<Option<Duration>, CutOff> {
        if self.noise_of_cut().is_some() {
            return Err(CutOff);
        }
        let mut account = self.account();
        self.refill(&mut account, Duration::MAX);
        account.left -= signed(units);
        account.used[noise as usize] += units;
        if account.left < 0 || *self.standing.borrow() == Standing::Slowed {
            account.excess += units;
        }
        if account.left >= 0 {
            return Ok(None);
        }
        if account.excess > self.most_excess(&account) {
            let main = account.main_noise();
            self.standing.send_replace(Standing::CutOff(main));
            return Err(CutOff);
        }
        self.tell(Standing::Slowed);
        let debt = account.left.unsigned_abs() as f64;
        let pause = Duration::from_secs_f64(debt / self.bounds.bytes_per_second as f64);
        Ok(Some(pause.max(LEAST_PAUSE)))
    }

    /// Adds what has come together since the last look, for no longer than `longest`.
    fn refill(&self, account: &mut Account, longest: Duration) {
        let now = Instant::now();
        let since = (now - account.as_of).min(longest);
        let earned = since.as_secs_f64() * self.bounds.bytes_per_second as f64;
        let earned = earned as i64;
        if earned == 0 {
            return;
        }
        account.as_of = now;
        let most = self.most(account);
        account.left = account.left.saturating_add(earned).min(most);
        // More than comes together in one pause, or each pause would seem to be calm.
        let pauses = signed(self.bounds.bytes_per_second / CALM_PAUSES_A_SECOND);
        let calm = (most / CALM).max(pauses).min(most / 2);
        if account.left >= calm {
            account.excess = 0;
            self.tell(Standing::Calm);
        }
        if account.left >= most {
            account.used = [0; KINDS];
            account.on_probation = false;
        }
    }

    /// Looks whether a server that was slowed is calm by now.
    pub(crate) fn look(&self) {
        self.refill(&mut self.account(), Duration::MAX);
    }

    fn tell(&self, standing: Standing) {
        self.standing.send_if_modified(|known| {
            let is_new = *known != standing && !matches!(known, Standing::CutOff(_));
            if is_new {
                *known = standing;
            }
            is_new
        });
    }

    fn most(&self, account: &Account) -> i64 {
        let part = if account.on_probation { PROBATION } else { 1 };
        signed(self.bounds.bytes / part)
    }

    fn most_excess(&self, account: &Account) -> u64 {
        let part = if account.on_probation { PROBATION } else { 1 };
        self.bounds.bytes / 2 / part
    }

    /// Counts work and lets others have their turn once it is enough.
    async fn take_turn(&self, units: u64) {
        if self.turn.fetch_add(units, Ordering::Relaxed) + units >= TURN {
            self.turn.store(0, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock()
    }
}

impl Account {
    /// The kind of which there was most.
    fn main_noise(&self) -> Noise {
        let mut main = Noise::Notifications;
        for noise in Noise::ALL {
            if self.used[noise as usize] > self.used[main as usize] {
                main = noise;
            }
        }
        main
    }
}

fn signed(units: u64) -> i64 {
    i64::try_from(units).unwrap_or(i64::MAX)
}

/// The words for a server that was cut off, and what to do about it.
pub(crate) fn cut_off(noise: Noise) -> String {
    format!(
        "cut off: it kept sending far more than was asked for, mostly {}; it is tried again after a \
         rest. Have the server mended or remove it; if it must say so much, raise limits.unasked_bytes",
        noise.words()
    )
}
