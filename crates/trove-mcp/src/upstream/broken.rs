//! Lines that a server meant as an answer, though they are none.

/// How much of either end of a broken answer is searched for its id.
const ENDS: usize = 4096;
/// The reason given to the caller who waits for it.
pub(super) const BROKEN: &str = "its answer is no JSON-RPC response";

/// The id of an answer that is no message: no JSON, or with neither a result nor an error. The
/// caller who waits for it need not wait any longer. A line that merely quotes a message, as in a
/// log, or repeats a request, is no answer.
pub(super) fn broken_answer(line: &[u8]) -> Option<u64> {
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    let is_answer =
        line.trim_ascii_start().starts_with(b"{") && has(b"\"jsonrpc\"") && !has(b"\"method\"");
    let (head, tail) = (&line[..line.len().min(ENDS)], &line[line.len().saturating_sub(ENDS)..]);
    is_answer.then(|| find_id(head).or_else(|| find_id(tail))).flatten()
}

/// The id in a fragment of a message: servers write it at one end or the other, e.g. `…,"id":7}`.
pub(super) fn find_id(fragment: &[u8]) -> Option<u64> {
    let at = memchr::memmem::rfind(fragment, b"\"id\":")? + 5;
    let digits: Vec<u8> = fragment[at..]
        .iter()
        .copied()
        .skip_while(|b| matches!(b, b' ' | b'"'))
        .take_while(u8::is_ascii_digit)
        .collect();
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t08_only_what_is_meant_as_an_answer_fails_its_request() {
        let broken = |text: &str| broken_answer(text.as_bytes());
        assert_eq!(broken(r#"{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}"#), Some(7));
        assert_eq!(broken(r#" {"result":{"x":,"jsonrpc":"2.0","id":8}"#), Some(8));
        assert_eq!(broken(r#"got {"jsonrpc":"2.0","id":7,"result":{}}"#), None);
        assert_eq!(broken(r#"{"jsonrpc":"2.0","id":7,"method":"x","result":NaN}"#), None);
        assert_eq!(broken(r#"{"jsonrpc":"2.0","id":9}"#), Some(9));
        assert_eq!(broken(r#"{"level":"debug","id":7}"#), None);
    }

    #[test]
    fn the_id_is_found_at_either_end_of_a_long_message() {
        assert_eq!(find_id(br#"{"jsonrpc":"2.0","id":17,"result":{"contents":["#), Some(17));
        assert_eq!(find_id(br#"xxxxx"}],"jsonrpc":"2.0","id": "4"}"#), Some(4));
        assert_eq!(find_id(b"xxxxxxxx"), None);
        assert_eq!(find_id(br#""id":"#), None);
    }
}
