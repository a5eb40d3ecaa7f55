//! Finds the secrets inside one value, by where the value stands.

use trove_mcp::upstream::secretive::{is_secret, is_secret_name, looks_random, looks_secret};

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role<'a> {
    Command,
    /// An argument, and the flag before it.
    Arg {
        after: Option<&'a str>,
    },
    Env {
        name: &'a str,
    },
    Header {
        name: &'a str,
    },
    Url,
}

/// A stretch of a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Plain(String),
    /// A text that must not be copied, and a word that names it.
    Secret {
        text: String,
        hint: String,
    },
}

/// Cuts a value into what may be copied and what may not.
pub(super) fn guard(role: &Role<'_>, text: &str) -> Vec<Part> {
    match role {
        Role::Command => vec![plain(text)],
        Role::Env { name } if is_secret(name, text) => vec![secret(text, name)],
        Role::Env { .. } => vec![plain(text)],
        Role::Header { name } => header(name, text),
        Role::Arg { after } => argument(*after, text),
        Role::Url => url(text),
    }
}

/// `Bearer` and its kin stay; what follows them is the secret.
fn header(name: &str, text: &str) -> Vec<Part> {
    let (scheme, rest) = text.split_once(' ').map_or(("", text), |(scheme, rest)| (scheme, rest));
    let is_scheme =
        ["bearer", "basic", "token", "apikey"].contains(&scheme.to_lowercase().as_str());
    let hint = if name.eq_ignore_ascii_case("authorization") { "token" } else { name };
    if is_scheme {
        if rest.trim().is_empty() {
            return vec![plain(text)];
        }
        return vec![plain(&format!("{scheme} ")), secret(rest, hint)];
    }
    if is_secret(name, text) { vec![secret(text, hint)] } else { vec![plain(text)] }
}

fn argument(after: Option<&str>, text: &str) -> Vec<Part> {
    if let Some((name, value)) = text.split_once(": ")
        && (is_secret_name(name) || name.eq_ignore_ascii_case("authorization"))
    {
        let mut parts = vec![plain(&format!("{name}: "))];
        parts.extend(header(name, value));
        return parts;
    }
    let flag = after.map(|flag| flag.trim_start_matches('-')).unwrap_or_default();
    let is_flag = text.starts_with('-');
    if !is_flag && !flag.is_empty() && is_secret_name(flag) && is_secret(flag, text) {
        return vec![secret(text, flag)];
    }
    if text.contains("://") && !is_flag {
        return url(text);
    }
    if let Some((name, value)) = text.split_once('=') {
        let word = name.trim_start_matches('-');
        let mut parts = vec![plain(&format!("{name}="))];
        // `--env=API_KEY=VALUE` has its secret behind the second name.
        parts.extend(match value.contains('=') && !is_secret_name(word) {
            true => argument(None, value),
            false if is_secret(word, value) => vec![secret(value, word)],
            false => vec![plain(value)],
        });
        return parts;
    }
    if looks_secret(text) { vec![secret(text, "secret")] } else { vec![plain(text)] }
}

/// Splits a URL into its password, parts of the path that look like keys, and secret parameters,
/// e.g. `?token=…`.
fn url(text: &str) -> Vec<Part> {
    let Some((scheme, rest)) = text.split_once("://") else { return vec![plain(text)] };
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let mut parts = vec![plain(&format!("{scheme}://"))];
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            match user.split_once(':') {
                Some((user, password)) => {
                    parts.extend([plain(&format!("{user}:")), secret(password, "password")]);
                }
                None => parts.push(secret(user, "token")),
            }
            parts.push(plain(&format!("@{host}")));
        }
        None => parts.push(plain(authority)),
    }
    let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            parts.push(plain("/"));
        }
        parts.push(if looks_secret(segment) { secret(segment, "key") } else { plain(segment) });
    }
    for (index, pair) in query.split('&').enumerate() {
        if index > 0 {
            parts.push(plain("&"));
        }
        let Some((name, value)) = pair.split_once('=') else {
            parts.push(plain(pair));
            continue;
        };
        let word = name.trim_start_matches(['?', '#']);
        parts.push(plain(&format!("{name}=")));
        let is_hidden = !value.is_empty() && (is_secret(word, value) || looks_random(value));
        parts.push(if is_hidden { secret(value, word) } else { plain(value) });
    }
    parts
}

fn plain(text: &str) -> Part {
    Part::Plain(text.to_owned())
}

fn secret(text: &str, hint: &str) -> Part {
    Part::Secret { text: text.to_owned(), hint: hint.to_owned() }
}

/// A name that any system takes for a variable: `api-key` becomes `API_KEY`.
pub(super) fn snake(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => name.push(c.to_ascii_uppercase()),
            _ if !name.is_empty() && !name.ends_with('_') => name.push('_'),
            _ => {}
        }
    }
    let name = name.trim_end_matches('_');
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        format!("V_{name}")
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Secrets show as their hint in angle brackets.
    #[track_caller]
    fn check(role: Role<'_>, text: &str, expect: &str) {
        let shown: String = guard(&role, text)
            .into_iter()
            .map(|part| match part {
                Part::Plain(text) => text,
                Part::Secret { hint, .. } => format!("<{hint}>"),
            })
            .collect();
        assert_eq!(shown, expect);
    }

    #[test]
    fn the_secret_is_cut_out_and_the_rest_kept() {
        check(Role::Header { name: "Authorization" }, "Bearer abc", "Bearer <token>");
        check(Role::Header { name: "Authorization" }, "Bearer ", "Bearer ");
        check(Role::Header { name: "X-Api-Key" }, "abc", "<X-Api-Key>");
        check(Role::Header { name: "Accept" }, "text/plain", "text/plain");
        check(Role::Env { name: "API_KEY" }, "abc", "<API_KEY>");
        check(Role::Env { name: "MODE" }, "dev", "dev");
        let arg = Role::Arg { after: None };
        check(arg, "--api-key=abc", "--api-key=<api-key>");
        check(arg, "--env=API_KEY=abc", "--env=API_KEY=<API_KEY>");
        check(arg, "GITHUB_TOKEN=abc", "GITHUB_TOKEN=<GITHUB_TOKEN>");
        check(arg, "Authorization: Bearer abc", "Authorization: Bearer <token>");
        check(arg, "@scope/package@1.2.3", "@scope/package@1.2.3");
        check(arg, "--mode=fast", "--mode=fast");
        check(Role::Arg { after: Some("--api-key") }, "abc", "<api-key>");
        check(Role::Arg { after: Some("--api-key") }, "--other", "--other");
        check(Role::Arg { after: Some("--dir") }, "docs", "docs");
    }

    #[test]
    fn urls_keep_their_shape() {
        check(Role::Url, "https://x.example/mcp", "https://x.example/mcp");
        check(
            Role::Url,
            "https://x.example/mcp?a=1&key=abc",
            "https://x.example/mcp?a=1&key=<key>",
        );
        check(Role::Url, "https://ann:pw@x.example", "https://ann:<password>@x.example");
        check(
            Role::Url,
            "https://x.example/s/f3a9c1d27b6e4a0f8c5d/mcp",
            "https://x.example/s/<key>/mcp",
        );
        check(Role::Arg { after: None }, "postgres://a:b@db/x", "postgres://a:<password>@db/x");
    }

    #[test]
    fn names_of_variables_are_plain() {
        assert_eq!(snake("x-api-key"), "X_API_KEY");
        assert_eq!(snake("2fa"), "V_2FA");
        assert_eq!(snake("é"), "V_");
    }
}
