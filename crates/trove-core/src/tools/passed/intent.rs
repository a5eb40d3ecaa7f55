//! The intent of a question for a tool: to ask or to change something, and by which verb.
//!
//! People say "which invoices…" where a tool is called `list_invoices`, and "give it back" where one
//! is called `restore`. A table of verbs that stand for each other closes a part of that gap.

/// Verbs that stand for each other, by what they do.
const KIN: [&[&str]; 12] = [
    &[
        "create",
        "add",
        "make",
        "open",
        "file",
        "new",
        "write",
        "put",
        "start",
        "begin",
        "plan",
        "publish",
        "declare",
        "save",
        "schedule",
        "attach",
        "upload",
        "append",
        "set",
        "log",
        "kick",
        "launch",
        "ship",
        "subscribe",
        "insert",
        "book",
    ],
    &[
        "delete",
        "remove",
        "erase",
        "drop",
        "destroy",
        "throw",
        "cancel",
        "end",
        "stop",
        "kick",
        "uninstall",
        "archive",
        "take",
    ],
    &["list", "which", "what", "all", "browse", "enumerate"],
    &["search", "find", "look", "where", "query", "locate", "lookup"],
    &[
        "get", "show", "read", "view", "see", "display", "fetch", "retrieve", "open", "describe",
        "tell", "what", "why", "download",
    ],
    &[
        "update",
        "change",
        "set",
        "edit",
        "rename",
        "move",
        "modify",
        "mark",
        "give",
        "transition",
        "replace",
        "adjust",
    ],
    &[
        "send", "post", "say", "mail", "message", "reply", "answer", "tell", "remind", "announce",
        "share", "write",
    ],
    &[
        "run", "start", "trigger", "rerun", "retry", "execute", "exec", "restart", "launch",
        "kick", "again", "try",
    ],
    &["merge", "accept", "approve"],
    &["download", "get", "save", "export", "fetch"],
    &["restore", "bring", "undo", "rollback", "recover", "back", "revert"],
    &["share", "give", "publish", "invite"],
];
/// Words with which somebody begins who wants to know something.
const ASKING: [&str; 28] = [
    "what", "which", "who", "whom", "when", "where", "why", "how", "is", "are", "was", "did",
    "does", "do", "can", "has", "have", "show", "find", "get", "list", "tell", "read", "search",
    "look", "see", "fetch", "retrieve",
];
/// Among so many words of a question, and of a tool's name, stands the verb.
const QUESTION_VERBS: usize = 2;
const NAME_VERBS: usize = 3;

/// The intent of a question.
pub(super) struct Intent {
    words: Vec<String>,
    verbs: u16,
    asks: bool,
}

impl Intent {
    pub(super) fn of(question: &str) -> Intent {
        let words = words_of(question);
        let verbs = kin_of(&words, QUESTION_VERBS);
        let asks = words.first().is_some_and(|first| ASKING.contains(&first.as_str()));
        Intent { words, verbs, asks }
    }

    /// Whether it only wants to know something.
    pub(super) fn asks(&self) -> bool {
        self.asks
    }

    /// Whether it names a server, e.g. `github`.
    pub(super) fn names(&self, server: &str) -> bool {
        self.words.iter().any(|word| word == server)
    }

    /// Whether a tool of this name and description does what its verb stands for.
    pub(super) fn is_kin(&self, verbs: u16) -> bool {
        self.verbs & verbs != 0
    }
}

/// The kinds of verbs that a tool has.
pub(super) fn verbs_of(name: &str, description: &str) -> u16 {
    kin_of(&words_of(name), NAME_VERBS) | kin_of(&words_of(description), 1)
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(64).map(str::to_lowercase).collect()
}

/// A bit for each kind of verb among the first words.
fn kin_of(words: &[String], most: usize) -> u16 {
    let mut kinds = 0;
    for word in words.iter().take(most) {
        for (place, verbs) in KIN.iter().enumerate() {
            if verbs.contains(&word.as_str()) {
                kinds |= 1 << place;
            }
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_is_known_by_its_kin_and_a_server_by_its_name() {
        let intent = Intent::of("give back the money of the last Stripe payment");
        assert!(intent.names("stripe") && !intent.asks());
        assert!(intent.is_kin(verbs_of("restore_page", "Bring a page back.")));
        assert!(!intent.is_kin(verbs_of("merge_branch", "Merge a branch.")));
        assert!(Intent::of("which invoices are open").is_kin(verbs_of("list_invoices", "")));
    }
}
