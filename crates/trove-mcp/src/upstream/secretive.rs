//! Tells values that look like secrets, so that none is copied from one file to another, nor shown.
//!
//! A doubt is settled for secrecy. A value that is taken for a secret costs its user one variable
//! to set. A secret that is copied may cost much more.

/// The beginnings of keys of well-known services, e.g. `ghp_`.
const BEGINNINGS: [&str; 23] = [
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_",
    "pk_live_",
    "rk_live_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "ntn_",
    "lin_api_",
    "eyJ",
    "-----BEGIN",
];

/// Names that end so speak of a secret without being one.
const HARMLESS_ENDINGS: [&str; 14] = [
    "_type", "_mode", "_method", "_file", "_path", "_url", "_uri", "_dir", "_host", "_port",
    "_region", "_name", "_scope", "_id",
];

/// Names that end in such a word are those of settings, e.g. `AWS_REGION`.
const SETTINGS: [&str; 36] = [
    "level",
    "mode",
    "type",
    "format",
    "region",
    "zone",
    "model",
    "locale",
    "lang",
    "language",
    "tz",
    "timezone",
    "version",
    "env",
    "environment",
    "host",
    "hostname",
    "port",
    "name",
    "user",
    "username",
    "owner",
    "org",
    "organization",
    "project",
    "repo",
    "repository",
    "bucket",
    "database",
    "path",
    "dir",
    "directory",
    "file",
    "folder",
    "root",
    "home",
];

/// Folders at the root of machines and containers. Some keys begin with `/`, as paths do.
const ROOT_FOLDERS: [&str; 25] = [
    "Applications",
    "Library",
    "Users",
    "Volumes",
    "app",
    "config",
    "data",
    "dev",
    "etc",
    "home",
    "media",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "secrets",
    "srv",
    "tmp",
    "usr",
    "var",
    "workspace",
    "workspaces",
];

/// The longest word; a longer one may be several, made into a password.
const MAX_WORD: usize = 16;

/// The shortest text that can be a key made by chance.
const RANDOM_LENGTH: usize = 20;

/// Whether a value must not be copied, given the name it stands under.
pub fn is_secret(name: &str, value: &str) -> bool {
    if value.is_empty() {
        return false;
    }
    looks_secret(value) || (is_secret_name(name) && !is_harmless(value)) || is_webhook(name, value)
}

/// Words in the name of a secret, e.g. `API_TOKEN`.
const SECRETIVE: [&str; 9] =
    ["token", "key", "secret", "password", "passwd", "passw", "auth", "credential", "header"];

/// Whether a name may be that of a secret; for what is masked, where a mistake costs little.
pub fn is_secretive(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRETIVE.iter().any(|word| name.contains(word))
}

/// Whether a name says that its value is secret, e.g. `X-Api-Key` but not `KEY_FILE`.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    let more = [
        "cookie",
        "pat",
        "pass",
        "pwd",
        "passphrase",
        "passcode",
        "pin",
        "mnemonic",
        "bearer",
        "dsn",
    ];
    (is_secretive(&name) || more.iter().any(|part| has_part(&name, part)))
        && !HARMLESS_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn has_part(name: &str, part: &str) -> bool {
    name.split('_').any(|word| word == part)
}

/// Anyone who knows the address of a webhook may post to it, so its path is the secret, e.g. in
/// `SLACK_WEBHOOK_URL`.
fn is_webhook(name: &str, value: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    let is_named_so = has_part(&name, "webhook") || has_part(&name, "webhooks");
    is_named_so
        && Address::of(value).is_some_and(|address| !address.path.trim_matches('/').is_empty())
}

/// Whether a value gives itself away.
pub fn looks_secret(value: &str) -> bool {
    is_key(value) || Address::of(value).is_some_and(|address| address.has_secret())
}

fn is_key(value: &str) -> bool {
    let begins_so = |start: &&str| value.len() > start.len() + 8 && value.starts_with(*start);
    BEGINNINGS.iter().any(begins_so) || looks_random(value)
}

/// Long, of one piece, and too mixed to be a word.
pub fn looks_random(value: &str) -> bool {
    let is_of_one_piece = value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-+=~".contains(&b));
    if value.len() < RANDOM_LENGTH || !is_of_one_piece {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let has_case = value.bytes().any(|b| b.is_ascii_uppercase())
        && value.bytes().any(|b| b.is_ascii_lowercase());
    // Words in a name seldom hold digits in their middle; keys do all the time.
    let turns = value
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
        .count();
    let is_mixed = digits >= 3 && letters >= 3 && turns >= 5;
    is_mixed || (has_case && digits >= 2 && turns >= 3)
}

/// The parts of `scheme://user@host/path?query` that may hold a secret.
struct Address<'a> {
    scheme: &'a str,
    user: Option<&'a str>,
    path: &'a str,
    query: &'a str,
}

impl Address<'_> {
    fn of(value: &str) -> Option<Address<'_>> {
        let (scheme, rest) = value.split_once("://")?;
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        Some(Address { scheme, user, path, query })
    }

    fn has_secret(&self) -> bool {
        let is_web = ["http", "https"].contains(&self.scheme);
        // Databases have users with names; a user alone in a web address is a key.
        let has_password = self.user.is_some_and(|user| user.contains(':') || is_web);
        let names_secret = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or_default();
            !value.is_empty() && (is_key(value) || (is_secret_name(name) && !is_harmless(value)))
        };
        has_password
            || (is_web && self.path.split('/').any(is_key))
            || self.query.split(['?', '#', '&']).any(names_secret)
    }
}

/// A value that is no secret under any name, e.g. `true`.
fn is_harmless(value: &str) -> bool {
    let is_short_number = value.len() <= 5 && value.bytes().all(|b| b.is_ascii_digit());
    let is_switch = ["true", "false", "yes", "no", "on", "off", "none"]
        .contains(&value.to_lowercase().as_str());
    let is_web = ["http://", "https://"].iter().any(|start| value.starts_with(start));
    is_short_number || is_switch || is_web || is_place(value)
}

/// Whether a value looks like the place of a file, e.g. `/etc/hosts` or `~/notes`.
fn is_place(value: &str) -> bool {
    if let Some(rest) = value.strip_prefix('/') {
        let (root, below) = rest.split_once('/').unwrap_or((rest, ""));
        return ROOT_FOLDERS.contains(&root) || (is_file_names(rest) && has_extension(below));
    }
    let rest = ["./", "../", "~/", "file://"].iter().find_map(|start| value.strip_prefix(start));
    if let Some(rest) = rest {
        return is_file_names(rest);
    }
    let drive = value.as_bytes();
    drive.len() > 3
        && drive[0].is_ascii_alphabetic()
        && drive[1] == b':'
        && b"/\\".contains(&drive[2])
}

/// Whether a text is made of names that people give to files.
fn is_file_names(path: &str) -> bool {
    let is_usual = |letter: char| letter.is_alphanumeric() || "/._- @".contains(letter);
    path.chars().all(is_usual) && !path.split('/').any(looks_random)
}

fn has_extension(path: &str) -> bool {
    let Some((_, extension)) = path.rsplit_once('.') else { return false };
    (1..=5).contains(&extension.len()) && extension.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Whether a value that a server was given is plainly no secret: a setting, a word, a number, a
/// path, or an address without credentials.
pub fn is_plain(name: &str, value: &str) -> bool {
    if is_secret(name, value) {
        return false;
    }
    is_harmless(value)
        || is_setting(name)
        || is_of_words(value)
        || is_of_numbers(value)
        || Address::of(value).is_some()
}

fn is_setting(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    let last = name.rsplit('_').next().unwrap_or_default();
    SETTINGS.contains(&last) || HARMLESS_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Words and single digits, e.g. `production`, `us-east-1` or `ann@example.com`.
fn is_of_words(value: &str) -> bool {
    let separators = ['-', '_', '.', ',', ':', '/', '@', '*'];
    value.split(separators).all(is_word)
}

fn is_word(part: &str) -> bool {
    if part.len() == 1 {
        return part.chars().all(char::is_alphanumeric);
    }
    let rest = || part.chars().skip(1);
    let has_one_case = !rest().any(char::is_uppercase) || !part.chars().any(char::is_lowercase);
    part.len() <= MAX_WORD && has_one_case && part.chars().all(char::is_alphabetic)
}

/// Versions, addresses of machines, times, and numbers that are round.
fn is_of_numbers(value: &str) -> bool {
    let mut groups = value.split(['.', ':']);
    let is_round = value.ends_with("000") && value.bytes().all(|b| b.is_ascii_digit());
    is_round || groups.all(|group| group.len() <= 5 && group.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: bool) {
        assert_eq!(is_secret(name, value), expect, "{name}={value}");
    }

    #[test]
    fn names_and_values_give_secrets_away() {
        check("GITHUB_TOKEN", "whatever", true);
        check("DB_PASSWORD", "hunter2", true);
        check("GH_PAT", "abc", true);
        check("ANY", "ghp_0123456789abcdef0123", true);
        check("ANY", "sk-ant-REDACTED", true);
        check("ANY", "eyJhbGciOiJIUzI1NiJ9.e30.abc", true);
        check("DATABASE_URL", "postgres://ann:pw@db/x", true);
        check("DB_PASS", "hunter2", true);
        check("SMTP_PASS", "hunter2", true);
        check("SENTRY_DSN", "https://abc123@o1.ingest.example.com/7", true);
        check("SLACK_WEBHOOK_URL", "https://hooks.example.com/services/T0/B0/XyZ", true);
        check("HOOK_URL", "https://example.com/api/f3a9c1d27b6e4a0f8c5d", true);
        check("FEED_URL", "https://example.com/feed?token=hunter2", true);
        check("ANY", "f3a9c1d27b6e4a0f8c5d", true);
        check("ANY", "123e4567-e89b-12d3-a456-426614174000", true);
        check("AWS_SECRET_ACCESS_KEY", "/wJalrXUtnFEMI+K7MDENG+bPxRfiCYEXAMPLEKEY", true);
        check("AWS_SECRET_ACCESS_KEY", "/wJalrXUtn/FEMIK7MDENG/bPxRfiCYEXAMPLEKEY", true);
        check("DB_PASSWORD", "~/hunter2!", true);
        check("VAULT_PIN", "884422113", true);
        check("PASSCODE", "moonlight77", true);
    }

    #[test]
    fn t62_a_value_is_plain_only_where_its_look_or_its_name_says_so() {
        for (name, value) in [
            ("NODE_ENV", "production"),
            ("HOST", "localhost"),
            ("ANY", "us-east-1"),
            ("ANY", "Europe/Berlin"),
            ("ANY", "en_US.UTF-8"),
            ("ANY", "127.0.0.1:8080"),
            ("ANY", "1.24.3"),
            ("ANY", "300000"),
            ("ANY", "ann@example.com"),
            ("ANY", "https://api.example.com/v1?page=2"),
            ("ANY", "postgres://db/shop"),
            ("ANY", "/data/knowledge"),
            ("ANY", "/usr/local/bin:/usr/bin:/bin"),
            ("ANY", "/missing/Notes2024/memory.json"),
            ("ANY", "C:\\Users\\Ann\\notes"),
            ("OBSIDIAN_VAULT_NAME", "MyNotes2024"),
            ("OPENAI_MODEL", "gpt-4o-mini"),
            ("API_VERSION", "2022-06-28"),
        ] {
            assert!(is_plain(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("OTHER", "Second~Secret77"),
            ("X", "plainvalue-abc-123"),
            ("JIRA_API", "zzTopSecretzz"),
            ("ANY", "884422113"),
            ("ANY", "/wJalrXUtnFEMI+K7MDENG"),
            ("ANY", "correcthorsebatterystaple"),
            ("ANY", "Server=h;Password=Pa55w0rdXyz"),
            ("MY_TOKEN_NAME", "ghp_0123456789abcdef0123"),
        ] {
            assert!(!is_plain(name, value), "{name}={value}");
        }
    }

    #[test]
    fn what_is_plain_is_left_plain() {
        check("LOG_LEVEL", "debug", false);
        check("API_KEY", "", false);
        check("AUTH_ENABLED", "true", false);
        check("AUTH_MODE", "oauth", false);
        check("GOOGLE_APPLICATION_CREDENTIALS", "/home/ann/key.json", false);
        check("AUTH_URL", "https://login.example.com", false);
        check("API_URL", "https://api.example.com/v1", false);
        check("FEED_URL", "https://example.com/feed?page=2&auth=true", false);
        check("WEBHOOK_URL", "https://example.com/", false);
        check("WEBHOOK_PORT", "8080", false);
        check("BYPASS_CACHE", "always", false);
        check("REPOSITORY", "ssh://git@example.com/a.git", false);
        check("ANY", "@modelcontextprotocol/server-filesystem", false);
        check("ANY", "mcp-server-kubernetes-and-more", false);
        check("ANY", "postgres://db/x", false);
        check("PATH_EXTRA", "/opt/a/b/c0123456789", false);
        check("MODEL", "claude-sonnet-4-20250514", false);
    }
}
