//! Whether every library that reads JSON reads a text.
//!
//! Some refuse a whole message for half a surrogate pair in it, or for a number that is too large
//! or has very many digits.

/// The most characters of a number.
const MAX_NUMBER: usize = 300;

/// Whether all libraries read a JSON text; some refuse e.g. `1e999` or half a surrogate pair.
pub fn is_portable(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut at, mut in_string) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => in_string = !in_string,
            b'\\' if in_string => match escape(bytes, at) {
                Some(length) => {
                    at += length;
                    continue;
                }
                None => return false,
            },
            b'-' | b'0'..=b'9' if !in_string => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                let number = &text[at..at + length];
                if length > MAX_NUMBER || !number.parse::<f64>().is_ok_and(f64::is_finite) {
                    return false;
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    true
}

/// How long an escape is, with the other half of its pair; `None` if that is missing.
fn escape(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at + 1) != Some(&b'u') {
        return Some(2);
    }
    match hex_at(bytes, at + 2)? {
        0xd800..=0xdbff => {
            let is_pair = bytes.get(at + 6..at + 8) == Some(b"\\u")
                && matches!(hex_at(bytes, at + 8), Some(0xdc00..=0xdfff));
            is_pair.then_some(12)
        }
        0xdc00..=0xdfff => None,
        _ => Some(6),
    }
}

fn hex_at(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = std::str::from_utf8(bytes.get(at..at + 4)?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_some_libraries_read_is_known() {
        for text in [
            r#"{"a":"\ud83d\ude00","b":[1,-2.5e3,0.1e-400]}"#,
            r#"["\\ud800","\"1e999"]"#,
            r#"{"k":"1e999"}"#,
            "",
            "[nonsense",
        ] {
            assert!(is_portable(text), "{text}");
        }
        let long = format!("[{}]", "9".repeat(301));
        for text in [
            r#"{"a":"\ud800"}"#,
            r#"["\udc00"]"#,
            r#"{"\ud800x":1}"#,
            r#"["\ud800\u0041"]"#,
            "[1e400]",
            "[-1e999]",
            &long,
        ] {
            assert!(!is_portable(text), "{text}");
        }
    }
}
