//! The messages between the gateway and a worker: a length, then JSON.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use trove_core::programs::Given;

/// The longest message of a worker. A worker bounds its messages itself; this bound is for a worker
/// that was taken over.
pub(crate) const MAX_MESSAGE: usize = 512 * 1024;

/// A message to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// The program.
    Run { source: String },
    /// The answer to its call.
    Give(Gift),
    /// The exception that its call raises.
    Raise { kind: String, message: String },
    /// The program must end, even if it would catch the exception.
    End { kind: String, message: String },
}

/// The answer to a call, on its way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Gift {
    Text(String),
    /// In base64.
    Bytes(String),
    Json(String),
}

impl From<Given> for Gift {
    fn from(given: Given) -> Gift {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        match given {
            Given::Text(text) => Gift::Text(text),
            Given::Json(text) => Gift::Json(text),
            Given::Bytes(bytes) => Gift::Bytes(STANDARD.encode(bytes)),
        }
    }
}

/// A message of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// It has locked itself in.
    Ready(Locks),
    /// It could not, and runs nothing.
    Unready { why: String },
    /// The program calls.
    Call { function: String, arguments: Map<String, Value> },
    /// The program ended.
    Done { value: Value, printed: String, is_cut: bool },
    /// The program returned too much.
    TooMuch { bytes: usize, printed: String, is_cut: bool },
    /// The program failed.
    Failed(Failed),
}

/// Where and why a program failed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failed {
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) line: Option<u32>,
    pub(crate) traceback: String,
    pub(crate) printed: String,
    /// More was printed.
    pub(crate) is_cut: bool,
}

/// The rights that the kernel let a worker give up, beyond those that always go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Locks {
    /// Every call to the kernel but the few it needs.
    pub(crate) has_filter: bool,
    /// The network.
    pub(crate) has_no_network: bool,
}

/// How many bytes a text takes as JSON, e.g. 4 for `ab` with its quotes.
pub(crate) fn json_len(text: &str) -> usize {
    let escapes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    });
    escapes.sum::<usize>() + 2
}

/// As much of a text as takes no more than `room` as JSON.
pub(crate) fn json_prefix(text: &str, room: usize) -> &str {
    if json_len(text) <= room {
        return text;
    }
    let (mut end, mut taken) = (0, 2);
    for c in text.chars() {
        taken += json_len(c.encode_utf8(&mut [0; 4])) - 2;
        if taken > room {
            break;
        }
        end += c.len_utf8();
    }
    &text[..end]
}

/// The bytes of a message.
pub fn framed(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Writes a message, and waits until it is written.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&framed(message)?)?;
    to.flush()
}

/// Waits for a message. Its length is not doubted: it comes from the process that started us.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    from.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}
