//! How many pages a PDF says it has.
//!
//! Newer files keep their page tree in compressed objects. Those are not opened, and no number is
//! told.

use memchr::memchr2_iter;

/// How much is looked at, at either end of the file.
const MAX_SCAN: usize = 8 * 1024 * 1024;

/// The most pages that are believed.
const MAX_PAGES: u32 = 1_000_000;

/// The number of pages, if it can be seen.
pub(super) fn page_count(bytes: &[u8]) -> Option<u32> {
    let mut seen = Seen::default();
    if bytes.len() <= 2 * MAX_SCAN {
        seen.scan(bytes);
    } else {
        seen.scan(&bytes[..MAX_SCAN]);
        seen.scan(&bytes[bytes.len() - MAX_SCAN..]);
        // Pages in between were not counted, only what the tree says is whole.
        seen.pages = 0;
    }
    seen.tree.or((seen.pages > 0).then_some(seen.pages)).filter(|pages| *pages <= MAX_PAGES)
}

#[derive(Default)]
struct Seen {
    /// The largest count of a node of the page tree: that of its root.
    tree: Option<u32>,
    /// How many pages were met one by one.
    pages: u32,
    /// The object that is being read says that it is a node of the page tree.
    is_node: bool,
    /// The count it gives.
    count: Option<u32>,
}

impl Seen {
    /// Looks at every name and at the end of every object, once.
    fn scan(&mut self, bytes: &[u8]) {
        for at in memchr2_iter(b'/', b'e', bytes) {
            let here = &bytes[at..];
            if here.starts_with(b"endobj") {
                self.end_object();
            } else if let Some(rest) = here.strip_prefix(b"/Type") {
                self.take_type(rest.trim_ascii_start());
            } else if let Some(rest) = here.strip_prefix(b"/Count") {
                self.count = digits(rest).or(self.count);
            }
        }
        self.end_object();
    }

    fn take_type(&mut self, rest: &[u8]) {
        if is_name(rest, b"/Pages") {
            self.is_node = true;
        } else if is_name(rest, b"/Page") {
            self.pages = self.pages.saturating_add(1);
        }
    }

    fn end_object(&mut self) {
        if self.is_node {
            self.tree = self.tree.max(self.count);
        }
        (self.is_node, self.count) = (false, None);
    }
}

fn is_name(text: &[u8], name: &[u8]) -> bool {
    text.strip_prefix(name).is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
}

fn digits(text: &[u8]) -> Option<u32> {
    let text = text.trim_ascii_start();
    let end = text.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}
