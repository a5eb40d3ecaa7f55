//! Writes objects of our own.

use std::fmt::{self, Write as _};

use super::push_quoted;

/// An object that is only written: each member goes straight into the text.
pub struct Writer(String);

impl Writer {
    /// An object that has room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Writer {
        let mut text = String::with_capacity(bytes);
        text.push('{');
        Writer(text)
    }

    /// Begins a member, whose value must follow; its key needs no escape.
    pub fn key(&mut self, key: &'static str) -> &mut String {
        if !self.0.ends_with('{') {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
        &mut self.0
    }

    /// A member that is JSON already.
    pub fn raw(&mut self, key: &'static str, value: &str) {
        self.key(key).push_str(value);
    }

    /// A member that is a string.
    pub fn text(&mut self, key: &'static str, value: &str) {
        push_quoted(self.key(key), value);
    }

    /// A member that is true or false.
    pub fn flag(&mut self, key: &'static str, value: bool) {
        self.raw(key, if value { "true" } else { "false" });
    }

    /// A member that is a number.
    pub fn number(&mut self, key: &'static str, value: impl fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.key(key), "{value}");
    }

    /// Begins a member that is an object, whose members follow.
    pub fn open(&mut self, key: &'static str) {
        self.key(key).push('{');
    }

    /// Ends the innermost object.
    pub fn close(&mut self) {
        self.0.push('}');
    }

    /// Where the next byte goes.
    pub fn at(&self) -> usize {
        self.0.len()
    }

    pub fn finish(mut self) -> String {
        self.close();
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_member_by_member_is_read_back() {
        let mut writer = Writer::with_capacity(0);
        writer.text("a", "x\"\n");
        writer.open("b");
        writer.flag("c", true);
        writer.number("d", 7);
        writer.close();
        writer.raw("e", "[1]");
        assert_eq!(writer.finish(), r#"{"a":"x\"\n","b":{"c":true,"d":7},"e":[1]}"#);
        assert_eq!(Writer::with_capacity(9).finish(), "{}");
    }
}
