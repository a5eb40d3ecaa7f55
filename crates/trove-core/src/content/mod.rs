//! The kind of some contents, and how to show them in a small window.
//!
//! Plain functions over bytes of strangers. They do no I/O, decompress nothing, never panic, and
//! take linear time. Sizes of a binary are its own header's claim: reserve no memory by them.

mod charset;
mod contents;
mod escape;
mod grep;
mod kind;
mod names;
mod summary;
mod window;

#[cfg(test)]
mod tests;

pub use charset::{Decoded, decode_text};
pub use contents::{Content, Payload, Words, contents, decode_blob, first_text};
pub use escape::{escape_controls, escape_in_json, escape_line, meant_uri, one_line, shown_uri};
pub use grep::{
    BadPattern, GrepLimits, GrepResult, MAX_COMPILED_BYTES, MAX_PATTERN_BYTES, MAX_SEARCH_STEPS,
    PatternLimits, grep, matching,
};
pub use kind::{Form, ImageFormat, Kind, sniff};
pub use names::mime_of_name;
pub use summary::{MAX_ARCHIVE_ENTRIES, image_size, summarise};
pub use window::{Base64Window, Window, base64_window, window};
