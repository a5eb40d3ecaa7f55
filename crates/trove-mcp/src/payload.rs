//! A result on its way out: long values of a server are not copied.

use std::slice;

use bytes::Bytes;
use trove_core::{Json, json::Object};

/// From this size on a copy costs more than pieces do.
pub(crate) const WORTH_SPARING: usize = 64 * 1024;

/// The text of a result.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    Whole(Json),
    /// In pieces that stand one after another.
    Pieces(Vec<Bytes>),
}

impl Payload {
    /// An object that was made of `body`, whose long values it shares.
    pub(crate) fn of(object: &Object<'_>, body: &Json) -> Payload {
        if body.as_bytes().len() >= WORTH_SPARING {
            Payload::Pieces(object.to_pieces(body, WORTH_SPARING))
        } else {
            Payload::Whole(object.to_json())
        }
    }

    pub(crate) fn pieces(&self) -> &[Bytes] {
        match self {
            Payload::Whole(json) => slice::from_ref(json.as_bytes()),
            Payload::Pieces(pieces) => pieces,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces().iter().map(Bytes::len).sum()
    }

    /// The whole, in one piece.
    pub(crate) fn into_json(self) -> Json {
        match self {
            Payload::Whole(json) => json,
            Payload::Pieces(pieces) => {
                Json::parse(pieces.concat()).expect("pieces of an object that was written")
            }
        }
    }
}

impl From<Json> for Payload {
    fn from(json: Json) -> Payload {
        Payload::Whole(json)
    }
}
