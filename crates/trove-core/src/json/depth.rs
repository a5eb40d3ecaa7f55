//! How deep a JSON text nests.

/// Whether a JSON text nests deeper than `limit`.
pub fn is_deeper(text: &[u8], limit: usize) -> bool {
    // Most messages have fewer brackets than that altogether.
    if memchr::memchr2_iter(b'{', b'[', text).nth(limit).is_none() {
        return false;
    }
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    for &byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t08_nesting_is_counted_outside_of_strings() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for limit in [1, 64, 256] {
            assert!(!is_deeper(nested(limit).as_bytes(), limit));
            assert!(is_deeper(nested(limit + 1).as_bytes(), limit));
        }
        let is_too_deep = |text: &str| is_deeper(text.as_bytes(), 256);
        assert!(!is_too_deep(&format!("\"{}\\\"[[\"", "[".repeat(999))));
        assert!(!is_too_deep(&"[{}]".repeat(999)));
    }
}
