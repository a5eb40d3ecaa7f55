//! Markdown as a document: CommonMark with tables, task lists, strike-through and front matter.
//!
//! The parser says what is there and this file chooses the tags. HTML in the text stays
//! text. A link leads somewhere only if that is a resource of the catalogue, and only a picture
//! of the catalogue is shown. All others show their address when one points at them.

use std::fmt::Write as _;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use trove_core::content::escape_controls;

use super::{code, escape};
use crate::web::leads::Leads;

fn parser(text: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    Parser::new_ext(text, options)
}

/// The addresses of links and pictures, as written.
pub(in crate::web) fn addresses(text: &str) -> Vec<String> {
    let text = escape_controls(text);
    let mut all = Vec::new();
    for event in parser(&text) {
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
            all.push(dest_url.into_string());
        }
    }
    all
}

pub(super) fn html(text: &str, leads: &Leads) -> String {
    let text = escape_controls(text);
    let out = String::with_capacity(text.len() * 2);
    let mut page = Page { out, leads, ends: Vec::new(), code: None, is_head: false };
    page.out.push_str("<article class=prose>");
    for event in parser(&text) {
        page.write(event);
    }
    page.out.push_str("</article>");
    page.out
}

struct Page<'a> {
    out: String,
    leads: &'a Leads,
    /// The tags that end the links and pictures that are open.
    ends: Vec<&'static str>,
    /// The language of the block of code that is open, and what was written of it so far.
    code: Option<(String, String)>,
    /// Whether the row being written is the head of a table.
    is_head: bool,
}

impl Page<'_> {
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
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        self.out.push_str(&escape(text));
    }

    fn open(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.heading(level, "<"),
            Tag::CodeBlock(kind) => {
                self.out.push_str("<pre tabindex=0><code>");
                self.code = Some((language_of(&kind), String::new()));
            }
            Tag::List(Some(1)) => self.out.push_str("<ol>"),
            Tag::List(Some(first)) => {
                let _ = write!(self.out, "<ol start={first}>");
            }
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => self.picture(&dest_url),
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
            TagEnd::CodeBlock => {
                let (language, code) = self.code.take().unwrap_or_default();
                self.out.push_str(&code::html(&code, &language));
                self.out.push_str("</code></pre>");
            }
            TagEnd::List(true) => self.out.push_str("</ol>"),
            TagEnd::Link | TagEnd::Image => {
                let end = self.ends.pop().unwrap_or_default();
                self.out.push_str(end);
            }
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

    fn link(&mut self, address: &CowStr<'_>) {
        let Some(uri) = self.leads.link(address) else {
            return self.address("link", address);
        };
        // A name in the address of our own page: it leads to no other place.
        let place = escape(&super::in_address(uri));
        let _ = write!(
            self.out,
            "<a class=link target=_top href=\"/#/resource?uri={place}\" title=\"{}\">",
            escape(uri)
        );
        self.ends.push("</a>");
    }

    fn picture(&mut self, address: &CowStr<'_>) {
        let Some(data) = self.leads.picture(address) else {
            return self.address("picture", address);
        };
        let _ = write!(self.out, "<span class=shown><img alt=\"\" src=\"{}\"><span>", escape(data));
        self.ends.push("</span></span>");
    }

    fn address(&mut self, class: &str, address: &CowStr<'_>) {
        let _ = write!(self.out, "<span class={class} title=\"{}\">", escape(address));
        self.ends.push("</span>");
    }
}

/// The first word behind a fence, e.g. `rust` of `rust,ignore`.
fn language_of(kind: &CodeBlockKind<'_>) -> String {
    let CodeBlockKind::Fenced(info) = kind else { return String::new() };
    let word = info.split([',', ' ', '{']).next().unwrap_or_default();
    word.to_owned()
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
        let html = html(text, &Leads::default());
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
        check(
            "```rust\nlet <x>\n```",
            "<pre tabindex=0><code><span class=k>let</span> &lt;x&gt;\n</code></pre>",
        );
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
            let html = html(&text, &Leads::default());
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
