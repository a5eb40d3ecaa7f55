//! Decodes the runs of Base64 and of hexadecimal digits in a text, e.g. `c2VjcmV0` to `secret`.
//!
//! Secrets are sought encoded once; a program that encodes twice is found by decoding once first.

use super::forms::{Place, View};

/// The shortest run that may hold a secret that was encoded twice: of hexadecimal digits, a pair
/// for each letter.
const MIN_RUN: usize = 6;

impl View {
    /// The runs of Base64, decoded, one behind the other. `None` if there is none. A run may be
    /// broken into lines.
    pub(super) fn of_base64(&self) -> Option<View> {
        let mut decoded = View::empty();
        let mut run = Vec::new();
        for (byte, place) in self.bytes.iter().zip(&self.places) {
            if let Some(six) = sextet(*byte) {
                run.push((six, *place));
            } else if !b"\r\n".contains(byte) {
                decode_run(&run, &mut decoded);
                run.clear();
            }
        }
        decode_run(&run, &mut decoded);
        (!decoded.bytes.is_empty()).then_some(decoded)
    }

    /// The runs of pairs of hexadecimal digits, decoded. `:` or `-` may stand between pairs, e.g.
    /// `73:65:63:72:65:74` for `secret`.
    pub(super) fn of_hex(&self) -> Option<View> {
        let mut decoded = View::empty();
        let mut at = 0;
        while at < self.bytes.len() {
            let before = decoded.bytes.len();
            let mut end = at;
            while let Some(byte) = self.pair_at(end) {
                decoded.push(byte, (self.places[end].0, self.places[end + 1].1));
                end += 2;
                let is_joined = self.bytes.get(end).is_some_and(|byte| b":-".contains(byte));
                end += usize::from(is_joined && self.pair_at(end + 1).is_some());
            }
            if decoded.bytes.len() - before < MIN_RUN {
                decoded.truncate(before);
            } else {
                decoded.push(0, self.places[end - 1]);
            }
            at = end + 1;
        }
        (!decoded.bytes.is_empty()).then_some(decoded)
    }

    fn pair_at(&self, at: usize) -> Option<u8> {
        let high = char::from(*self.bytes.get(at)?).to_digit(16)?;
        let low = char::from(*self.bytes.get(at + 1)?).to_digit(16)?;
        u8::try_from(high * 16 + low).ok()
    }
}

/// Decodes one run; a byte of nothing parts it from the next.
fn decode_run(run: &[(u8, Place)], decoded: &mut View) {
    if run.len() < MIN_RUN {
        return;
    }
    for four in run.chunks(4) {
        for pair in four.windows(2).enumerate() {
            let (n, [(first, from), (second, to)]) = pair else { continue };
            let byte = first << (2 * n + 2) | second >> (4 - 2 * n);
            decoded.push(byte, (from.0, to.1));
        }
    }
    let (_, last) = run[run.len() - 1];
    decoded.push(0, last);
}

/// The six bits of a letter of Base64, in either alphabet.
fn sextet(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}
