//! Bytes as numbers and letters, sixteen a line.

use std::fmt::Write as _;

use super::escape;

/// How many bytes one page shows.
const PAGE: usize = 16 * 1024;

pub(super) fn pages(length: usize) -> usize {
    length.div_ceil(PAGE).max(1)
}

pub(super) fn html(bytes: &[u8], page: usize) -> String {
    let from = page.saturating_mul(PAGE).min(bytes.len());
    let to = (from + PAGE).min(bytes.len());
    let mut text = String::with_capacity((to - from) * 5);
    for (n, line) in bytes[from..to].chunks(16).enumerate() {
        let _ = write!(text, "{:08x}  ", from + n * 16);
        for at in 0..16 {
            match line.get(at) {
                Some(byte) => {
                    let _ = write!(text, "{byte:02x} ");
                }
                None => text.push_str("   "),
            }
            if at == 7 {
                text.push(' ');
            }
        }
        text.push(' ');
        let seen = |byte: &u8| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '·' };
        text.extend(line.iter().map(seen));
        text.push('\n');
    }
    if bytes.is_empty() {
        return "<p class=note>It is empty.</p>".to_owned();
    }
    format!("<pre class=hex tabindex=0>{}</pre>", escape(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_place_its_bytes_and_its_letters() {
        let html = html(b"<A>\0", 0);
        assert!(html.contains("00000000  3c 41 3e 00 "), "{html}");
        assert!(html.contains("&lt;A&gt;·"), "{html}");
    }
}
