//! Code with its words coloured: comments, strings, numbers and keywords, by a table of languages.
//!
//! It reads no grammar. A text that breaks the rules of its language is coloured oddly and shown
//! whole all the same.

use super::escape;

/// How a language writes what is coloured.
struct Language {
    /// Its names: of its type, of its files, and behind the fence of a block of code.
    names: &'static [&'static str],
    /// What begins a comment that ends with the line.
    line: &'static [&'static str],
    /// What begins and ends a longer comment.
    block: Option<(&'static str, &'static str)>,
    /// The quotes of strings that end with the line, and of those that may not.
    quotes: &'static [&'static str],
    long_quotes: &'static [&'static str],
    /// Its keywords, with blanks between.
    keywords: &'static str,
}

const C_LIKE: &str = "abstract as async await bool boolean break byte case catch char class const continue \
    default delete do double else enum explicit export extends extern false final finally float for \
    foreach friend fun func function get goto if implements import in inline instanceof int interface \
    internal is let long namespace new null nullptr object of operator out override package private \
    protected public ref return set short signed sizeof static string struct super switch template this \
    throw throws trait true try type typedef typename typeof undefined union unsigned using val var \
    virtual void volatile when where while with yield";

const LANGUAGES: [Language; 7] = [
    Language {
        names: &["rust", "rs"],
        line: &["//"],
        block: Some(("/*", "*/")),
        quotes: &[],
        long_quotes: &["\""],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in \
            let loop match mod move mut pub ref return self Self static struct super trait true type \
            unsafe use where while",
    },
    Language {
        names: &["go"],
        line: &["//"],
        block: Some(("/*", "*/")),
        quotes: &["\"", "'"],
        long_quotes: &["`"],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if \
            import interface map nil package range return select struct switch true type var",
    },
    Language {
        names: &[
            "javascript",
            "js",
            "jsx",
            "mjs",
            "ecmascript",
            "typescript",
            "ts",
            "tsx",
            "c",
            "h",
            "c++",
            "cpp",
            "csharp",
            "cs",
            "java",
            "kotlin",
            "kt",
            "scala",
            "swift",
            "php",
            "groovy",
            "gradle",
            "dart",
            "protobuf",
            "proto",
        ],
        line: &["//"],
        block: Some(("/*", "*/")),
        quotes: &["\"", "'"],
        long_quotes: &["`"],
        keywords: C_LIKE,
    },
    Language {
        names: &["python", "py", "starlark"],
        line: &["#"],
        block: None,
        quotes: &["\"", "'"],
        long_quotes: &["\"\"\"", "'''"],
        keywords: "and as assert async await break class continue def del elif else except False finally \
            for from global if import in is lambda match None nonlocal not or pass raise return self True \
            try while with yield",
    },
    Language {
        names: &[
            "sh",
            "bash",
            "shell",
            "shellscript",
            "zsh",
            "console",
            "dockerfile",
            "make",
            "makefile",
        ],
        line: &["#"],
        block: None,
        quotes: &["\"", "'"],
        long_quotes: &[],
        keywords: "case do done elif else esac export fi for function if in local return set then unset \
            until while FROM RUN COPY ENV CMD ENTRYPOINT WORKDIR ARG USER EXPOSE",
    },
    Language {
        names: &[
            "ruby",
            "rb",
            "elixir",
            "julia",
            "r",
            "toml",
            "yaml",
            "yml",
            "ini",
            "terraform",
            "hcl",
        ],
        line: &["#"],
        block: None,
        quotes: &["\"", "'"],
        long_quotes: &["\"\"\""],
        keywords: "and begin break class def do else elsif end ensure false for function if in module next \
            nil not null or require rescue return self super then true unless until when while yes no",
    },
    Language {
        names: &["sql"],
        line: &["--"],
        block: Some(("/*", "*/")),
        quotes: &["'", "\""],
        long_quotes: &[],
        keywords: "add all alter and as asc begin between by case create default delete desc distinct drop \
            else end exists false foreign from group having if in index inner insert into is join key left \
            like limit not null on or order outer primary references select set table then true union \
            unique update values view when where with ALTER AND AS ASC BEGIN BETWEEN BY CASE CREATE DEFAULT \
            DELETE DESC DISTINCT DROP ELSE END EXISTS FOREIGN FROM GROUP HAVING IF IN INDEX INNER INSERT \
            INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER OUTER PRIMARY REFERENCES SELECT SET TABLE \
            THEN UNION UNIQUE UPDATE VALUES VIEW WHEN WHERE WITH",
    },
];

/// The language of a MIME type, e.g. `python` of `text/x-python`.
pub(super) fn of_mime(mime: &str) -> &str {
    let (_, name) = mime.split_once('/').unwrap_or_default();
    name.strip_prefix("x-").unwrap_or(name)
}

/// The text as HTML, coloured if the language is known.
pub(super) fn html(text: &str, language: &str) -> String {
    let name = language.to_ascii_lowercase();
    match LANGUAGES.iter().find(|one| one.names.contains(&name.as_str())) {
        Some(language) => {
            let mut paint = Paint { language, text, at: 0, plain: 0, out: String::new() };
            paint.all();
            paint.out
        }
        None => escape(text),
    }
}

struct Paint<'a> {
    language: &'static Language,
    text: &'a str,
    at: usize,
    /// Where the text begins that is not written out yet.
    plain: usize,
    out: String,
}

impl<'a> Paint<'a> {
    fn all(&mut self) {
        while let Some(next) = self.rest().chars().next() {
            let found = self.comment().or_else(|| self.string()).or_else(|| self.word(next));
            let Some((class, length)) = found else {
                self.at += next.len_utf8();
                continue;
            };
            if class.is_empty() {
                self.at += length;
            } else {
                self.write(class, length);
            }
        }
        self.flush();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// A comment that begins here, with its length.
    fn comment(&self) -> Option<(&'static str, usize)> {
        let rest = self.rest();
        if let Some((begin, end)) = self.language.block
            && let Some(inner) = rest.strip_prefix(begin)
        {
            let length = inner.find(end).map_or(rest.len(), |at| begin.len() + at + end.len());
            return Some(("c", length));
        }
        let begin = self.language.line.iter().find(|begin| rest.starts_with(**begin))?;
        // In a shell, `$#` and `a#b` begin no comment.
        let before = self.text[..self.at].chars().next_back();
        if *begin == "#" && before.is_some_and(|before| !before.is_whitespace()) {
            return None;
        }
        Some(("c", rest.find('\n').unwrap_or(rest.len())))
    }

    /// A string that begins here.
    fn string(&self) -> Option<(&'static str, usize)> {
        let rest = self.rest();
        for quote in self.language.long_quotes {
            if let Some(inner) = rest.strip_prefix(quote) {
                return Some(("s", quote.len() + end_of_string(inner, quote, "")));
            }
        }
        for quote in self.language.quotes {
            if let Some(inner) = rest.strip_prefix(quote) {
                return Some(("s", quote.len() + end_of_string(inner, quote, "\n")));
            }
        }
        None
    }

    /// A number or a word. A word that is no keyword has no class.
    fn word(&self, first: char) -> Option<(&'static str, usize)> {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        if !is_part(first) {
            return None;
        }
        let is_number = first.is_ascii_digit();
        let rest = self.rest();
        let length = rest.find(|c: char| !(is_part(c) || is_number && c == '.'));
        let length = length.unwrap_or(rest.len());
        if is_number {
            return Some(("n", length));
        }
        let is_keyword =
            self.language.keywords.split_ascii_whitespace().any(|one| one == &rest[..length]);
        Some((if is_keyword { "k" } else { "" }, length))
    }

    fn write(&mut self, class: &str, length: usize) {
        self.flush();
        let end = self.at + length;
        let part = escape(&self.text[self.at..end]);
        self.out.push_str("<span class=");
        self.out.push_str(class);
        self.out.push('>');
        self.out.push_str(&part);
        self.out.push_str("</span>");
        (self.at, self.plain) = (end, end);
    }

    fn flush(&mut self) {
        self.out.push_str(&escape(&self.text[self.plain..self.at]));
        self.plain = self.at;
    }
}

/// Where a string ends, its closing quote included: at a quote that no `\` stands before, or at
/// `stop`, which is left out.
fn end_of_string(inner: &str, quote: &str, stop: &str) -> usize {
    let mut at = 0;
    while let Some(next) = inner[at..].chars().next() {
        if inner[at..].starts_with(quote) {
            return at + quote.len();
        }
        if !stop.is_empty() && inner[at..].starts_with(stop) {
            return at;
        }
        at += next.len_utf8();
        if next == '\\' {
            at += inner[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    inner.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: &str, text: &str, expect: &str) {
        assert_eq!(html(text, language), expect, "{text}");
    }

    #[test]
    fn words_are_coloured_by_what_they_are() {
        check("python", "def f(): # x", "<span class=k>def</span> f(): <span class=c># x</span>");
        check(
            "rs",
            "let a = 'x'; // \"y\"",
            "<span class=k>let</span> a = &#39;x&#39;; <span class=c>// &quot;y&quot;</span>",
        );
        check(
            "js",
            "x = \"a\\\"b\" + 1.5e3",
            "x = <span class=s>&quot;a\\&quot;b&quot;</span> + <span class=n>1.5e3</span>",
        );
        check("sh", "echo a#b $# # c", "echo a#b $# <span class=c># c</span>");
        check("c", "/* a\nb */ int", "<span class=c>/* a\nb */</span> <span class=k>int</span>");
        check("brainf", "if 1", "if 1");
    }

    #[test]
    fn what_never_ends_ends_with_the_text() {
        check("c", "/* <a>", "<span class=c>/* &lt;a&gt;</span>");
        check("py", "'''é\\", "<span class=s>&#39;&#39;&#39;é\\</span>");
        check("py", "'a\nb", "<span class=s>&#39;a</span>\nb");
    }

    proptest::proptest! {
        #[test]
        fn the_text_stays_whole(text in "[-#/*\"'`\\\\a-z0-9é\n ]{0,80}", n in 0..LANGUAGES.len()) {
            let html = html(&text, LANGUAGES[n].names[0]);
            let mut plain = String::new();
            for part in html.split('<') {
                plain.push_str(part.split_once('>').map_or(part, |(_, rest)| rest));
            }
            let plain = plain.replace("&quot;", "\"").replace("&#39;", "'");
            proptest::prop_assert_eq!(plain, text);
        }
    }
}
