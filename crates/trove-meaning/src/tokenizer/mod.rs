//! Cuts a text into the tokens the model was trained on.
//!
//! Byte-pair encoding over bytes: [`split`] finds the words, [`merge`] joins the bytes of
//! a word. Any bytes have tokens, so nothing is ever unknown. Text that looks like one of
//! the model's marks (`<s>`, `<mask>`) is text: it comes from documents, not from us.

mod merge;
mod split;

use crate::MAX_TOKENS;
use crate::pack::Model;

pub(crate) use merge::Workspace;

/// The marks that begin and end every text.
const BEGIN: u16 = 0;
const END: u16 = 2;

/// A longer word is cut here, so that no text can make us work for long. A text has room
/// for 510 tokens, which words of many bytes a token use up as well.
const MAX_WORD_BYTES: usize = 16 * 1024;

/// Appends the tokens of a text, marks included, and never more than [`MAX_TOKENS`].
pub(crate) fn tokens(model: &Model, text: &str, workspace: &mut Workspace, out: &mut Vec<u16>) {
    let start = out.len();
    let limit = start + MAX_TOKENS - 1;
    out.push(BEGIN);
    for word in split::words(text, &model.letters) {
        let end = word.floor_char_boundary(MAX_WORD_BYTES);
        merge::merge(model, &word.as_bytes()[..end], workspace, out);
        if out.len() >= limit {
            break;
        }
    }
    out.truncate(limit);
    out.push(END);
}
