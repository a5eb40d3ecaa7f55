//! Images that travel beside the data, and the note on those that do not.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::content::{self, Kind};

/// The most images that travel with one answer.
const MAX_IMAGES: usize = 8;

/// The images of one answer.
pub(super) struct Images {
    /// The bytes that an answer has for them, and what is left of those.
    most: usize,
    room: usize,
    /// Content blocks.
    pub(super) blocks: Vec<String>,
    pub(super) left_out: usize,
    /// Where the first one begins that was left out and would fit into another answer.
    next: Option<usize>,
}

impl Images {
    pub(super) fn within(most: usize) -> Images {
        Images { most, room: most, blocks: Vec::new(), left_out: 0, next: None }
    }

    /// Adds an image that clients can show, if there is room; `begin` is its offset.
    pub(super) fn add(&mut self, bytes: &[u8], kind: &Kind, begin: usize) {
        let content::Form::Image(format) = kind.form else { return };
        // One that is broken so early would only make a client stumble.
        if content::image_size(format, bytes).is_none() {
            return;
        }
        if self.blocks.len() == MAX_IMAGES || bytes.len() > self.room {
            self.left_out += 1;
            self.next = self.next.or((bytes.len() <= self.most).then_some(begin));
            return;
        }
        self.room -= bytes.len();
        let (base64, mime) = (STANDARD.encode(bytes), format.mime());
        let block = format!(r#"{{"type":"image","data":"{base64}","mimeType":"{mime}"}}"#);
        self.blocks.push(block);
    }

    /// A note on the images that were left out.
    pub(super) fn note(&self) -> Option<String> {
        let what = match self.left_out {
            0 => return None,
            1 => "an image is".to_owned(),
            count => format!("{count} images are"),
        };
        let most = self.most;
        Some(match self.next {
            Some(next) => format!(
                "{what} not shown: one answer holds at most {MAX_IMAGES} images and {most} bytes of them; \
                 go on with `offset` {next}"
            ),
            None => format!(
                "{what} not shown: one answer holds at most {most} bytes of them; `format` \"binary\" gives \
                 all bytes part by part"
            ),
        })
    }
}
