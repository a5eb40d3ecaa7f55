//! Keeps the evidence in a server's text: its own words, and names of errors.
//!
//! Values are no evidence: the URI that was asked for, other URIs, paths and words in quotes are
//! replaced by marks. Example: `Note 'forbidden' not found` is judged as `Note ␁ not found`.

use crate::uri::decode_once;

/// Stands for a value.
pub(super) const VALUE: char = '\u{1}';
/// Stands for a file that the server itself needs, such as its configuration.
pub(super) const MACHINERY: char = '\u{2}';

/// The most bytes of a text that are looked at: half from its start, half from its end.
const MAX_LOOKED_AT: usize = 4096;
/// The longest value in quotes.
const MAX_QUOTED: usize = 400;
/// A quoted text of this many words is a sentence and not a value.
const SENTENCE: usize = 3;

/// A text, ready to be judged.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Its words in small letters.
    pub(super) words: String,
    /// The names of errors in it as words. Example: `ThrottlingException` is
    /// `throttling exception`.
    pub(super) names: Vec<String>,
}

/// Members of an error object whose values tell what went wrong.
const TELLING: [&str; 28] = [
    "error",
    "errors",
    "code",
    "codename",
    "status",
    "type",
    "__type",
    "message",
    "msg",
    "reason",
    "detail",
    "details",
    "title",
    "error_description",
    "errordescription",
    "error_code",
    "errorcode",
    "error_type",
    "errortype",
    "error_message",
    "errormessage",
    "errormessages",
    "description",
    "cause",
    "kind",
    "desc",
    "fault",
    "text",
];
/// Members whose values are numbers that tell what went wrong.
const NUMBERS: [&str; 7] =
    ["status", "statuscode", "status_code", "http_status", "httpstatus", "code", "errno"];

impl Said {
    /// The words of a text that was the answer to a question for `uri`.
    pub(super) fn of(text: &str, uri: Option<&str>) -> Said {
        let text = bounded(text).replace("\\\"", "\"").replace("\\n", "\n");
        let text = without_trace(&text);
        let text = without_uri(&text, uri);
        let plain = Masking::of(&text).plain;
        let names = names_in(&plain);
        Said { words: tidy(&plain), names }
    }
}

/// The start and the end of a text that is too long to be read whole.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_LOOKED_AT {
        return text.to_owned();
    }
    let start = text.floor_char_boundary(MAX_LOOKED_AT / 2);
    let end = text.ceil_char_boundary(text.len() - MAX_LOOKED_AT / 2);
    format!("{}\n{}", &text[..start], &text[end..])
}

/// A text without the lines of a stack trace, e.g. `at read (index.js:5)`.
fn without_trace(text: &str) -> String {
    let is_python = text.contains("Traceback (most recent call last)");
    let is_kept = |line: &&str| {
        let bare = line.trim_start();
        let is_indented = bare.len() < line.len();
        let is_frame = bare.starts_with("at ") || bare.starts_with("File \"");
        let is_source = is_python && (is_indented || bare.starts_with("Traceback"));
        !(is_indented && is_frame || is_source)
    };
    let lines: Vec<&str> = text.lines().filter(is_kept).collect();
    lines.join("\n")
}

/// A text in which marks stand for a URI, and for a part of it that by itself would tell.
fn without_uri(text: &str, uri: Option<&str>) -> String {
    let Some(uri) = uri.filter(|uri| !uri.is_empty()) else { return text.to_owned() };
    let mut text = replaced(text, uri, false);
    let decoded = decode_once(uri);
    if let Some(decoded) = &decoded {
        text = replaced(&text, decoded, false);
    }
    let whole = decoded.as_deref().unwrap_or(uri);
    for part in whole.split(['/', ':', '?', '#', '&', '=']) {
        if super::says_anything(part) {
            text = replaced(&text, part, true);
        }
    }
    text
}

/// A text in which a mark stands for each of these words, however they are written.
fn replaced(text: &str, words: &str, is_whole: bool) -> String {
    let (lower, words) = (text.to_ascii_lowercase(), words.to_ascii_lowercase());
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in lower.match_indices(&words) {
        let end = at + words.len();
        let begins = !lower[..at].ends_with(char::is_alphanumeric);
        let ends = !lower[end..].starts_with(char::is_alphanumeric);
        // A text that is nothing else says it of itself.
        let is_all = at == 0 && end == lower.trim_end_matches('.').len();
        if is_whole && (!begins || !ends || is_all) {
            continue;
        }
        result.push_str(&text[from..at]);
        result.push(VALUE);
        from = end;
    }
    result.push_str(&text[from..]);
    result
}

/// Walks along a text and replaces its values.
struct Masking<'a> {
    rest: &'a str,
    plain: String,
    /// The member of an object whose value comes next.
    member: Option<String>,
}

impl<'a> Masking<'a> {
    fn of(text: &'a str) -> Masking<'a> {
        let mut masking = Masking { rest: text, plain: String::new(), member: None };
        while let Some(next) = masking.rest.chars().next() {
            if !masking.takes_quoted(next) && !masking.takes_token() {
                masking.plain.push(next);
                masking.rest = &masking.rest[next.len_utf8()..];
            }
        }
        masking
    }

    /// Whether a word may begin here.
    fn is_at_start(&self) -> bool {
        !self.plain.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    }

    /// Takes what stands in quotes.
    fn takes_quoted(&mut self, quote: char) -> bool {
        if !matches!(quote, '\'' | '"' | '`') || !self.is_at_start() {
            return false;
        }
        let inside = &self.rest[1..];
        let Some(length) = closing(inside, quote) else { return false };
        let (value, after) = (&inside[..length], &inside[length + 1..]);
        let before = self.plain.trim_end();
        let follows_brace = before.ends_with(['{', ',', '[']);
        if follows_brace && after.trim_start().starts_with(':') {
            let member = value.to_ascii_lowercase();
            self.plain.push(' ');
            if NUMBERS.contains(&member.as_str()) {
                self.plain.push_str(&member);
            }
            self.member = Some(member);
            self.rest = after;
            return true;
        }
        if self.is_telling(before, value) || asks_for(before, value, after) {
            // Its words are read like any others.
            self.plain.push(' ');
            self.plain.push_str(&Masking::of(value).plain);
            self.plain.push(' ');
        } else {
            self.plain.push(if is_machinery(value) { MACHINERY } else { VALUE });
        }
        self.member = None;
        self.rest = after;
        true
    }

    /// Whether a quoted text tells what went wrong, rather than of which thing.
    fn is_telling(&self, before: &str, value: &str) -> bool {
        let words = value.split_whitespace().count();
        let is_one_word = !value.contains(' ');
        if is_one_word && value.contains("://") || value.starts_with('/') {
            return false;
        }
        if is_status(value) {
            return true;
        }
        if let Some(member) = self.member.as_deref().filter(|_| before.ends_with(':')) {
            return TELLING.contains(&member) || (words >= SENTENCE && !names_a_thing(member));
        }
        match before.chars().next_back() {
            None | Some('(') => true,
            Some(',' | '[') => words >= 2,
            Some(':' | '=' | '{' | '-' | '>') => words >= SENTENCE,
            _ => false,
        }
    }

    /// Takes a URI or a path.
    fn takes_token(&mut self) -> bool {
        if !self.is_at_start() {
            return false;
        }
        let end = self.rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
        let token = &self.rest[..end.unwrap_or(self.rest.len())];
        let token = token.trim_end_matches([')', ']', '}', '>', ',', ';', ':', '.', '!', '?']);
        let Some(mark) = mark_of(token) else { return false };
        self.plain.push(mark);
        self.rest = &self.rest[token.len()..];
        true
    }
}

/// Words before a command that a sentence asks to run.
const RUN: [&str; 8] = ["run", "running", "execute", "executing", "use", "using", "try", "with"];
/// Words behind such a command.
const RUN_IT: [&str; 6] =
    ["first", "must be run", "needs to be run", "has to be run", "should be run", "before "];
/// Words of a sentence that tells of a command that was run, and asks for none.
const DENIALS: [&str; 9] =
    ["not ", "n't ", "cannot", "unable", "fail", "tried", "while ", "when ", "error"];

/// Whether a sentence asks to run the command in quotes: its words are the server's own.
/// Example: ``Please run `gh auth login` first``.
fn asks_for(before: &str, value: &str, after: &str) -> bool {
    if value.split_whitespace().count() < 2 {
        return false;
    }
    let before = before.to_ascii_lowercase();
    let sentence = before.rsplit(['.', ';', ':', '!', '?', '\n']).next().unwrap_or(&before);
    if DENIALS.iter().any(|words| sentence.contains(words)) {
        return false;
    }
    let last = sentence.split_whitespace().next_back().unwrap_or_default();
    let after = after.trim_start().to_ascii_lowercase();
    RUN.contains(&last) || RUN_IT.iter().any(|words| after.starts_with(words))
}

/// Whether a text begins as a status does, e.g. `403 Forbidden`.
fn is_status(value: &str) -> bool {
    let Some((number, _)) = value.split_once(' ') else { return false };
    number.len() == 3
        && number.starts_with(['4', '5'])
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Where the quote ends.
fn closing(inside: &str, quote: char) -> Option<usize> {
    let is_end = |at: &usize| {
        let after = inside[at + 1..].chars().next();
        !after.is_some_and(|c| c.is_alphanumeric())
    };
    let mut places = inside.match_indices(quote).map(|(at, _)| at);
    places.find(is_end).filter(|at| *at <= MAX_QUOTED)
}

/// Whether a member holds the name of a thing, e.g. `filename`.
fn names_a_thing(member: &str) -> bool {
    ["uri", "url", "path", "file", "id", "name", "key", "input", "value"]
        .iter()
        .any(|word| member.ends_with(word))
}

/// The mark for a URI, a path or an address, e.g. for `docs://x`; none for a word.
fn mark_of(token: &str) -> Option<char> {
    let has_scheme = token.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    });
    if has_scheme || token.starts_with("arn:") {
        return Some(VALUE);
    }
    let is_windows = token.as_bytes().get(1..3) == Some(b":\\");
    let is_path = token.starts_with('/') && token.len() > 1
        || ["~/", "./", "../"].iter().any(|start| token.starts_with(start))
        || is_windows
        || token.matches('/').count() > 1
        || token.contains('@') && token.contains('.');
    if is_machinery(token) && (is_path || token.contains('.')) {
        return Some(MACHINERY);
    }
    is_path.then_some(VALUE)
}

/// Whether a path is of a file that a server needs for itself, e.g. `/etc/hosts`.
fn is_machinery(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let folders =
        ["/etc/", "/usr/", "/lib/", "/bin/", "/proc/", "/sys/", "/dev/", "/run/", "/var/run/"];
    let parts = ["node_modules", "site-packages", "/.config/", "/.aws/", "/.kube/", "/.ssh/"];
    let ends = [".env", ".pem", ".crt", ".sock", ".so", ".dll", ".ini", ".conf", ".cfg", ".toml"];
    let last = path.rsplit(['/', '\\']).next().unwrap_or(&path);
    let stems = ["config", "settings", "credential", "creds", "secrets.", "token.", ".env"];
    let stems_end = [".json", ".yaml", ".yml", ".toml", ".ini", ".js", ".py", ".env"];
    let is_settings = stems.iter().any(|stem| last.starts_with(stem))
        && stems_end.iter().any(|end| last.ends_with(end));
    is_settings
        || folders.iter().any(|folder| path.starts_with(folder))
        || parts.iter().any(|part| path.contains(part))
        || (path.contains('/') || last.starts_with('.'))
            && ends.iter().any(|end| last.ends_with(end))
        || last.contains(".so.")
}

/// Small letters, one blank between words; a dot ends a sentence and nothing else.
fn tidy(plain: &str) -> String {
    let plain = plain.to_lowercase().replace('\u{2019}', "'");
    let letters: Vec<char> = plain.chars().collect();
    let is_letter =
        |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|c| c.is_alphabetic());
    let mut words = String::with_capacity(plain.len());
    for (at, letter) in letters.iter().enumerate() {
        let joins = *letter == '.' && is_letter(at.checked_sub(1)) && is_letter(Some(at + 1));
        words.push(if joins { '_' } else { *letter });
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names of errors in a text, each as words.
fn names_in(plain: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = Vec::new();
    let mut rest = plain;
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |end| start + end);
        let (word, after) = (&rest[start..end], &rest[end..]);
        rest = after;
        if is_name(word) && !is_argument(word, after) {
            names.push(spread(word));
        }
    }
    names
}

/// Whether a sentence makes demands on a name, e.g. `not_found_action must be one of …`.
fn is_argument(word: &str, after: &str) -> bool {
    let demands = [" must ", " should ", " needs to ", " has to ", " is required", " cannot be "];
    word.contains('_') && demands.iter().any(|demand| after.starts_with(demand))
}

/// Whether a word is the name of an error: `NoSuchKey`, `EACCES`, `RATE_LIMITED`, or a verdict
/// such as `invalid_token`. `connection_timeout` may be the name of an argument.
fn is_name(word: &str) -> bool {
    let count = |what: fn(&char) -> bool| word.chars().filter(what).count();
    let (upper, lower) = (count(char::is_ascii_uppercase), count(char::is_ascii_lowercase));
    let begins_upper = word.starts_with(|c: char| c.is_ascii_uppercase());
    if lower == 0 {
        return upper >= 4 || word == "EIO" || word.contains('_') && upper >= 2;
    }
    if upper == 0 {
        return word.contains('_') && is_verdict(word);
    }
    begins_upper && upper >= 2 && !word.contains('_')
        || upper >= 1 && is_verdict(&spread(word).replace(' ', "_"))
}

/// Whether a name in small letters says how something went, e.g. `not_found`.
fn is_verdict(name: &str) -> bool {
    let begins = [
        "invalid_",
        "missing_",
        "unknown_",
        "not_",
        "no_",
        "insufficient_",
        "bad_",
        "expired_",
        "unsupported_",
        "cannot_",
        "temporarily_",
        "too_",
        "restricted_",
        "unauthorized_",
        "malformed_",
    ];
    let ends = [
        "_exceeded",
        "_limited",
        "_error",
        "_found",
        "_failed",
        "_failure",
        "_expired",
        "_denied",
        "_exception",
        "_unavailable",
        "_unauthorized",
        "_required",
        "_missing",
        "_forbidden",
        "_reached",
        "_inactive",
        "_invalid",
        "_unknown",
        "_revoked",
        "_rejected",
        "_authenticated",
        "_authorized",
        "_allowed",
        "_permitted",
        "_busy",
        "_unreachable",
        "_refused",
        "_reset",
        "_conflict",
        "_overloaded",
        "_out",
    ];
    begins.iter().any(|start| name.starts_with(start)) || ends.iter().any(|end| name.ends_with(end))
}

/// A name as words in small letters, e.g. `not found error` of `NotFoundError`.
fn spread(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let follows_small = before.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let ends_capitals = before.is_some_and(char::is_ascii_uppercase)
            && letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if *letter == '_' || letter.is_ascii_uppercase() && (follows_small || ends_capitals) {
            words.push(' ');
        }
        if *letter != '_' {
            words.push(letter.to_ascii_lowercase());
        }
    }
    words.trim().to_owned()
}
