//! The next step after a failure; for a feature that this Python lacks, the code to write
//! instead.

use crate::{policy::RULES, wire::Failed};

/// The next step for the author of the program.
pub(crate) fn hint(failed: &Failed) -> String {
    let says = |words: &str| failed.message.contains(words);
    match failed.kind.as_str() {
        "ModuleNotFoundError" | "ImportError" => {
            format!("Only these modules can be imported: {}.", RULES.modules.join(", "))
        }
        "NameError" => {
            let missing = RULES.missing.iter().find(|name| says(&format!("'{name}'")));
            match missing {
                Some(name) => format!("There is no {name} here; write the program without it."),
                None => "Define the name before it is used; not every builtin is there. The \
                         functions are find, list_resources, read, read_json, grep and expand."
                    .to_owned(),
            }
        }
        "NotImplementedError" => instead(&failed.message).to_owned(),
        "PermissionError" if says("is not there") => {
            "Files, the environment and the network are not there; read resources with read(uri)."
                .to_owned()
        }
        "TimeoutError" => "Read or compute less; ask for fewer resources.".to_owned(),
        "MemoryError" => "Keep less at a time; read parts with offset and limit.".to_owned(),
        "RuntimeError" if says("a program may") => {
            "Narrow down what is read first, with find() or list_resources(server).".to_owned()
        }
        "RuntimeError" if says("SystemExit") => "End with return instead.".to_owned(),
        "SystemExit" => "End with return instead.".to_owned(),
        "TypeError" if says("for %: 'str'") => "Use f-strings instead of %.".to_owned(),
        "TypeError" if says("awaited") => "Call the functions without await.".to_owned(),
        "RecursionError" => "Write a loop instead.".to_owned(),
        _ => "Correct the program at that line and run it again.".to_owned(),
    }
}

/// The code to write instead of a feature that the interpreter does not know.
fn instead(message: &str) -> &'static str {
    let table = [
        ("match", "Write if and elif instead of match."),
        ("yield", "Gather a list and return it instead of yielding."),
        ("external function", "Call it yourself, in a loop or a comprehension."),
        ("del", "Make a new dict or list without it instead of del."),
        ("inherit", "Write functions over dicts instead of classes that inherit."),
    ];
    let known = table.iter().find(|(words, _)| message.contains(words));
    known.map_or(
        "This Python lacks that; write it with functions, loops, lists and dicts.",
        |(_, advice)| *advice,
    )
}
