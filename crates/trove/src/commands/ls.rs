//! `trove ls`: every resource and template of every server.

use std::fmt::Write as _;

use trove_core::json::{Object, items};

use super::{Failed, errand, say};
pub(super) use crate::style::plain;
use crate::{
    cli::{Global, Wait},
    errand::What,
};

pub(super) fn ls(global: &Global, wait: Wait) -> Result<(), Failed> {
    let body = errand(global, What::List, wait.wait)?;
    if wait.output.json {
        say(&format!("{body}\n"));
        return Ok(());
    }
    say(&as_text(&body));
    Ok(())
}

fn as_text(array: &str) -> String {
    let mut text = String::new();
    for entry in items(array).into_iter().flatten().filter_map(Object::parse) {
        let word = |key: &str| entry.get_str(key);
        let uri = word("uri").or_else(|| word("uriTemplate")).unwrap_or_default();
        let name = word("title").or_else(|| word("name")).unwrap_or_default();
        let server = word("server").unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}\t{}\t{}", plain(&server), plain(&uri), plain(&name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_server_name_and_title() {
        let listed = r#"[{"uri":"a://1","name":"n","title":"T","server":"s"},
            {"uriTemplate":"a://{x}","name":"n\u001b","server":"s"}]"#;
        assert_eq!(as_text(listed), "s\ta://1\tT\ns\ta://{x}\tn\\u{1b}\n");
    }
}
