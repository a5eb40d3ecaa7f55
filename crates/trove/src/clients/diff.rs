//! The effect of a change, line by line.

use std::path::Path;

use similar::TextDiff;

/// How many unchanged lines stand around a change.
const CONTEXT: usize = 3;

/// The change as `diff -u` shows it; nothing if there is none.
pub(crate) fn unified(path: &Path, before: &str, after: &str) -> String {
    // A mark or a carriage return would only disturb the terminal.
    let plain = |text: &str| text.trim_start_matches('\u{feff}').replace('\r', "");
    let (before, after) = (plain(before), plain(after));
    let name = path.display().to_string();
    let old = if before.is_empty() { "/dev/null".to_owned() } else { name.clone() };
    let new = if after.is_empty() { "/dev/null".to_owned() } else { name };
    let diff = TextDiff::from_lines(&before, &after);
    diff.unified_diff().context_radius(CONTEXT).header(&old, &new).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_with_its_surroundings() {
        let shown = unified(Path::new("/a.json"), "\u{feff}1\r\n2\r\n3\r\n", "1\n2\nx\n3\n");
        assert_eq!(shown, "--- /a.json\n+++ /a.json\n@@ -1,3 +1,4 @@\n 1\n 2\n+x\n 3\n");
        assert_eq!(unified(Path::new("/a"), "1\n", "1\n"), "");
        assert!(unified(Path::new("/a"), "", "1\n").starts_with("--- /dev/null\n+++ /a\n"));
    }
}
