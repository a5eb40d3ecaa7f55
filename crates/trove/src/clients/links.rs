//! Links that add Trove to a client with one click, for clients that have them.

use std::fmt::Write as _;

use base64::Engine as _;
use serde_json::json;

use super::entry::{Access, Launch};
use crate::config::Client;

/// One link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) client: Client,
    pub(crate) url: String,
}

/// The links for an entry. A link travels, so there is none that would hold a token.
pub(crate) fn links(name: &str, launch: &Launch) -> Vec<Link> {
    let (cursor, code) = match launch {
        Launch::Stdio { command, args, .. } => (
            json!({ "command": command, "args": args }),
            json!({ "name": name, "type": "stdio", "command": command, "args": args }),
        ),
        Launch::Http { url, access: Access::Open } => {
            (json!({ "url": url }), json!({ "name": name, "type": "http", "url": url }))
        }
        Launch::Http { access: Access::Token(_), .. } => return Vec::new(),
    };
    let packed = base64::engine::general_purpose::STANDARD.encode(cursor.to_string());
    let (name, packed) = (encoded(name), encoded(&packed));
    let cursor =
        format!("cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={packed}");
    let code = format!("vscode:mcp/install?{}", encoded(&code.to_string()));
    vec![Link { client: Client::Cursor, url: cursor }, Link { client: Client::VsCode, url: code }]
}

/// Percent-encoded, all but letters, digits and `-_.~`.
fn encoded(text: &str) -> String {
    let mut url = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                url.push(char::from(byte));
            }
            // Writing to a String cannot fail.
            _ => drop(write!(url, "%{byte:02X}")),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_carry_the_whole_command() {
        let args = vec!["serve".to_owned(), "--stdio".to_owned()];
        let launch =
            Launch::Stdio { command: "/usr/bin/trove é".into(), args, env: Default::default() };
        let links = links("trove", &launch);
        let (start, packed) = links[0].url.split_once("&config=").unwrap();
        assert_eq!(start, "cursor://anysphere.cursor-deeplink/mcp/install?name=trove");
        let packed = packed.replace("%3D", "=").replace("%2B", "+").replace("%2F", "/");
        let unpacked = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
        let expected = r#"{"command":"/usr/bin/trove é","args":["serve","--stdio"]}"#;
        assert_eq!(String::from_utf8(unpacked).unwrap(), expected);
        assert_eq!(
            links[1].url,
            "vscode:mcp/install?%7B%22name%22%3A%22trove%22%2C%22type%22%3A%22stdio%22%2C%22command\
             %22%3A%22%2Fusr%2Fbin%2Ftrove%20%C3%A9%22%2C%22args%22%3A%5B%22serve%22%2C%22--stdio%22\
             %5D%7D"
        );
    }

    #[test]
    fn no_link_holds_the_token() {
        let url = "http://127.0.0.1:7420/mcp".to_owned();
        let access = Access::Token("s3cret".into());
        assert_eq!(links("trove", &Launch::Http { url: url.clone(), access }), []);
        assert_eq!(links("trove", &Launch::Http { url, access: Access::Open }).len(), 2);
    }
}
