//! The members of a modern request that its HTTP headers repeat, for proxies that route without
//! reading bodies: the names, and how values are written.
//!
//! Both sides use it: we write these headers to servers and check them from clients.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use trove_core::Json;

pub(crate) const VERSION: &str = "mcp-protocol-version";
pub(crate) const SESSION: &str = "mcp-session-id";
pub(crate) const METHOD: &str = "mcp-method";
pub(crate) const NAME: &str = "mcp-name";
/// Stands before the name that a tool's schema gives to an argument, e.g. `mcp-param-region`.
const PARAM: &str = "mcp-param-";

/// How deep in a tool's schema arguments are looked for.
const MAX_DEPTH: usize = 8;

/// A header holds visible ASCII only. Other text travels as base64, e.g. `ä` as `=?base64?w6Q=?=`.
pub(crate) fn encode(text: &str) -> String {
    let is_plain = text.bytes().all(|b| (0x20..0x7f).contains(&b))
        && text.trim() == text
        && !text.starts_with("=?base64?");
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

/// The text a header holds; `None` if it claims to be base64 and is not.
pub(crate) fn decode(header: &str) -> Option<String> {
    match header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(header.to_owned()),
    }
}

/// An argument of a tool that is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeated {
    path: Vec<String>,
    /// The name of the header.
    pub(crate) header: String,
}

impl Repeated {
    /// The arguments that a tool's entry marks with `x-mcp-header`.
    pub(crate) fn of_tool(entry: &Json) -> Vec<Repeated> {
        // Hardly any tool has them; a search is cheaper than a parse.
        if memchr::memmem::find(entry.as_bytes(), b"x-mcp-header").is_none() {
            return Vec::new();
        }
        let mut found = Vec::new();
        if let Ok(tool) = entry.to::<Value>() {
            collect(&tool["inputSchema"], &mut Vec::new(), &mut found);
        }
        found
    }

    /// The value that the header must have for these arguments, e.g. `7` or `true`. `None` if the
    /// argument is absent or no plain value.
    pub(crate) fn value(&self, arguments: &Value) -> Option<String> {
        match self.path.iter().try_fold(arguments, |value, key| value.get(key))? {
            Value::String(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Repeated>) {
    let Some(properties) = schema["properties"].as_object() else { return };
    if path.len() == MAX_DEPTH {
        return;
    }
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property["x-mcp-header"].as_str().filter(|header| !header.is_empty())
        {
            let header = format!("{PARAM}{}", header.to_ascii_lowercase());
            found.push(Repeated { path: path.clone(), header });
        }
        collect(property, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_no_header_can_hold_survives_the_trip() {
        for text in ["plain", "", " blank", "ünï", "=?base64?x?=", "a\nb", "x y"] {
            assert_eq!(decode(&encode(text)).as_deref(), Some(text), "{text:?}");
        }
        assert_eq!(decode("=?base64?!!?="), None);
    }

    #[test]
    fn marked_arguments_are_found_wherever_properties_lead() {
        let entry = Json::parse(
            r#"{"name":"t","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"},
            "o":{"properties":{"n":{"x-mcp-header":"N"}}},"plain":{}}}}"#,
        );
        let found = Repeated::of_tool(&entry.unwrap());
        let headers: Vec<&str> = found.iter().map(|r| r.header.as_str()).collect();
        assert_eq!(headers, ["mcp-param-region", "mcp-param-n"]);
        let arguments = serde_json::json!({ "region": "eu", "o": { "n": 7 } });
        let values: Vec<_> = found.iter().map(|r| r.value(&arguments)).collect();
        assert_eq!(values, [Some("eu".to_owned()), Some("7".to_owned())]);
        assert_eq!(found[0].value(&serde_json::json!({})), None);
    }
}
