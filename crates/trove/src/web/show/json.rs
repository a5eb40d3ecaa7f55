//! JSON as a tree that opens and closes without a script.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Place, escape, numbered};

/// The most values that are shown, and how deep.
const MAX_VALUES: usize = 20_000;
const MAX_DEPTH: usize = 64;
/// The part that is open at first: the top, and small values.
const OPEN_DEPTH: usize = 2;
const OPEN_SIZE: usize = 40;
/// The largest text that is parsed to see whether it is JSON.
const MAX_GUESSED: usize = 4 << 20;

/// Whether some text that is not called JSON is an object or a list all the same.
pub(super) fn is_worth_a_tree(bytes: &[u8]) -> bool {
    let begins = bytes.trim_ascii_start().first();
    matches!(begins, Some(b'{' | b'['))
        && bytes.len() <= MAX_GUESSED
        && serde_json::from_slice::<Value>(bytes).is_ok()
}

pub(super) fn html(text: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return numbered(text, Place::default(), "");
    };
    let mut tree = Tree { out: String::from("<div class=tree>"), left: MAX_VALUES };
    tree.value(None, &value, 0);
    tree.out.push_str("</div>");
    if tree.left == 0 {
        let _ = write!(
            tree.out,
            "<p class=note>Only the first {MAX_VALUES} values are shown. See the text for all.</p>"
        );
    }
    tree.out
}

struct Tree {
    out: String,
    left: usize,
}

impl Tree {
    fn value(&mut self, key: Option<&str>, value: &Value, depth: usize) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        match value {
            Value::Object(members) if !members.is_empty() && depth < MAX_DEPTH => {
                self.begin(key, "{", members.len(), depth);
                for (key, value) in members {
                    self.value(Some(key), value, depth + 1);
                }
                self.out.push_str("</div></details>");
            }
            Value::Array(items) if !items.is_empty() && depth < MAX_DEPTH => {
                self.begin(key, "[", items.len(), depth);
                for (n, item) in items.iter().enumerate() {
                    self.value(Some(&n.to_string()), item, depth + 1);
                }
                self.out.push_str("</div></details>");
            }
            leaf => {
                self.out.push_str("<div class=leaf>");
                self.key(key);
                let (class, text) = match leaf {
                    Value::String(text) => ("s", format!("\"{text}\"")),
                    Value::Number(number) => ("n", number.to_string()),
                    Value::Bool(_) | Value::Null => ("b", leaf.to_string()),
                    Value::Object(members) if members.is_empty() => ("b", "{}".to_owned()),
                    Value::Array(items) if items.is_empty() => ("b", "[]".to_owned()),
                    Value::Object(_) | Value::Array(_) => ("b", "… too deep to show".to_owned()),
                };
                let text = escape(&text);
                let _ = write!(self.out, "<span class={class}>{text}</span></div>");
            }
        }
    }

    fn begin(&mut self, key: Option<&str>, bracket: &str, count: usize, depth: usize) {
        let is_open = depth == 0 || (depth < OPEN_DEPTH && count <= OPEN_SIZE);
        self.out.push_str(if is_open { "<details open><summary>" } else { "<details><summary>" });
        self.key(key);
        let word = match (bracket, count) {
            ("{", 1) => "member",
            ("{", _) => "members",
            (_, 1) => "item",
            _ => "items",
        };
        let close = if bracket == "{" { "}" } else { "]" };
        let _ = write!(
            self.out,
            "<span class=p>{bracket}</span><span class=c>{count} {word}</span><span class=p>{close}</span></summary><div class=in>"
        );
    }

    fn key(&mut self, key: Option<&str>) {
        if let Some(key) = key {
            let key = escape(key);
            let _ = write!(self.out, "<span class=k>{key}</span><span class=p>: </span>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_in_their_order_and_can_be_opened() {
        let html = html(r#"{"b": [1, null], "a": {"x": "é"}}"#);
        assert!(html.find(">b<").unwrap() < html.find(">a<").unwrap());
        assert!(html.contains("<span class=s>&quot;é&quot;</span>"));
        assert!(html.contains("2 items"));
    }

    #[test]
    fn a_huge_or_deep_value_is_cut_and_says_so() {
        let wide = format!("[{}1]", "1,".repeat(MAX_VALUES));
        assert!(html(&wide).contains("Only the first"));
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert!(html(&deep).contains("too deep to show"));
    }

    #[test]
    fn what_is_not_json_is_shown_as_text() {
        assert!(html("{nonsense").contains("class=lines"));
        assert!(!is_worth_a_tree(b"{nonsense"));
        assert!(!is_worth_a_tree(b"17"));
    }
}
