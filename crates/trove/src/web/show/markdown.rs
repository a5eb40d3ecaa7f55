//! Markdown as a document: CommonMark with tables, task lists, strike-through and front matter.
//!
//! The parser says what is there and this file chooses the tags. HTML in the text stays
//! text. Links and pictures show their address when one points at them, and lead nowhere.

use std::fmt::Write as _;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use trove_core::content::escape_controls;

use super::escape;

pub(super) fn html(text: &str) -> String {
    let text = escape_controls(text);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut page = Page { out: String::with_capacity(text.len() * 2), is_head: false };
    page.out.push_str("<article class=prose>");
    for event in Parser::new_ext(&text, options) {
        page.write(event);
    }
    page.out.push_str("</article>");
    page.out
}

struct Page {
    out: String,
    /// Whether the row being written is the head of a table.
    is_head: bool,
}

impl Page {
    fn write(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Code(code) => {
                let _ = write!(self.out, "<code>{}</code>", escape(&code));
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(is_done) => {
                self.out.push_str(if is_done { "☑ " } else { "☐ " })
            }
            // Their syntax is not switched on.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(&escape(text));
    }

    fn open(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.heading(level, "<"),
            Tag::CodeBlock(_) => self.out.push_str("<pre tabindex=0><code>"),
            Tag::List(Some(1)) => self.out.push_str("<ol>"),
            Tag::List(Some(first)) => {
                let _ = write!(self.out, "<ol start={first}>");
            }
            Tag::Link { dest_url, .. } => self.address("link", &dest_url),
            Tag::Image { dest_url, .. } => self.address("picture", &dest_url),
            Tag::MetadataBlock(_) => self.out.push_str("<pre class=front>"),
            Tag::TableHead => {
                self.is_head = true;
                self.out.push_str("<thead><tr>");
            }
            Tag::TableCell if self.is_head => self.out.push_str("<th>"),
            other => {
                let _ = write!(self.out, "<{}>", plain_name(other.to_end()));
            }
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.heading(level, "</"),
            TagEnd::CodeBlock => self.out.push_str("</code></pre>"),
            TagEnd::List(true) => self.out.push_str("</ol>"),
            TagEnd::Link | TagEnd::Image => self.out.push_str("</span>"),
            TagEnd::MetadataBlock(_) => self.out.push_str("</pre>"),
            TagEnd::TableHead => {
                self.is_head = false;
                self.out.push_str("</tr></thead>");
            }
            TagEnd::TableCell if self.is_head => self.out.push_str("</th>"),
            other => {
                let _ = write!(self.out, "</{}>", plain_name(other));
            }
        }
    }

    fn heading(&mut self, level: HeadingLevel, bracket: &str) {
        let _ = write!(self.out, "{bracket}{level}>");
    }

    fn address(&mut self, class: &str, address: &CowStr<'_>) {
        let _ = write!(self.out, "<span class={class} title=\"{}\">", escape(address));
    }
}

/// The tag for a part of the text that is written without attributes.
fn plain_name(tag: TagEnd) -> &'static str {
    match tag {
        TagEnd::BlockQuote(_) => "blockquote",
        TagEnd::List(_) => "ul",
        TagEnd::Item => "li",
        TagEnd::Table => "table",
        TagEnd::TableRow => "tr",
        TagEnd::TableCell => "td",
        TagEnd::Emphasis => "em",
        TagEnd::Strong => "strong",
        TagEnd::Strikethrough => "del",
        // A block of HTML is shown as the text it is.
        _ => "p",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let html = html(text);
        let inner = html.strip_prefix("<article class=prose>").unwrap();
        assert_eq!(inner.strip_suffix("</article>").unwrap(), expect, "{text}");
    }

    #[test]
    fn the_usual_blocks_are_understood() {
        check("# One\n\nTwo\nlines", "<h1>One</h1><p>Two\nlines</p>");
        check("Title\n=====\ntext", "<h1>Title</h1><p>text</p>");
        check("- a\n- b\n\n3. c", "<ul><li>a</li><li>b</li></ul><ol start=3><li>c</li></ol>");
        check("- a\n  - b", "<ul><li>a<ul><li>b</li></ul></li></ul>");
        check("> a\n> b", "<blockquote><p>a\nb</p></blockquote>");
        check("```rust\nlet <x>\n```", "<pre tabindex=0><code>let &lt;x&gt;\n</code></pre>");
        check("    let x;\n", "<pre tabindex=0><code>let x;\n</code></pre>");
        check(
            "|a|b|\n|-|-|\n|1|2 \\| 3|",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead><tr><td>1</td><td>2 | 3</td></tr></table>",
        );
        check("---\ntitle: x\n---\ny", "<pre class=front>title: x\n</pre><p>y</p>");
        check("- [x] done", "<ul><li>☑ done</li></ul>");
        check("***", "<hr>");
        check("<div>\n<b>\n</div>", "<p>&lt;div&gt;\n&lt;b&gt;\n&lt;/div&gt;</p>");
    }

    #[test]
    fn marks_within_a_line_become_tags_and_everything_else_stays() {
        check(
            "a *b* **c** ~~d~~ `e<`",
            "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;</code></p>",
        );
        check("snake_case_word 2 * 3 * 4", "<p>snake_case_word 2 * 3 * 4</p>");
        check(r"\*a\* <b>", "<p>*a* &lt;b&gt;</p>");
        check("a  \nb", "<p>a<br>b</p>");
        check("[open (", "<p>[open (</p>");
    }

    #[test]
    fn links_and_pictures_show_their_address_and_lead_nowhere() {
        check(
            "[x](http://e.x/?a=\"b)",
            "<p><span class=link title=\"http://e.x/?a=&quot;b\">x</span></p>",
        );
        check("![x](y)", "<p><span class=picture title=\"y\">x</span></p>");
        check(
            "[x][1]\n\n[1]: javascript:a()",
            "<p><span class=link title=\"javascript:a()\">x</span></p>",
        );
        check("<http://e.x>", "<p><span class=link title=\"http://e.x\">http://e.x</span></p>");
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_our_own_tags_is_ever_written(text in "[-#>*_`|<>&a\"'!\\[\\]() \n0-9.:~]{0,200}") {
            let html = html(&text);
            for tag in html.split('<').skip(1) {
                let name: String = tag.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '/').collect();
                let known = [
                    "article", "h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "pre", "code", "hr", "blockquote",
                    "table", "thead", "tr", "th", "td", "em", "strong", "del", "br", "span",
                ];
                proptest::prop_assert!(known.contains(&name.trim_start_matches('/')), "{}", tag);
            }
        }
    }
}
