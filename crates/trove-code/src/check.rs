//! What is refused before anything runs.

use trove_core::programs::Fault;

use crate::policy::{MAX_NESTED, RULES};

/// Whether a program may be tried at all.
pub(crate) fn check(source: &str) -> Result<(), Fault> {
    if source.len() > RULES.source_bytes {
        return Err(Fault::TooLong { bytes: source.len(), limit: RULES.source_bytes });
    }
    // The indents of the functions that the current line may stand in.
    let mut open: Vec<usize> = Vec::new();
    for (index, line) in source.lines().enumerate() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        open.retain(|outer| *outer < indent);
        if text.starts_with("def ") || text.starts_with("async def ") {
            open.push(indent);
        }
        if open.len() > MAX_NESTED {
            return Err(Fault::TooNested { line: index + 1, limit: MAX_NESTED });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        let defs = (0..depth).map(|n| format!("{}def f():\n", " ".repeat(n)));
        defs.collect::<String>() + &" ".repeat(depth) + "0\n"
    }

    #[test]
    fn functions_in_functions_are_taken_as_deep_as_they_compile_at_once() {
        assert_eq!(check(&nested(MAX_NESTED)), Ok(()));
        let fault = Fault::TooNested { line: MAX_NESTED + 1, limit: MAX_NESTED };
        assert_eq!(check(&nested(MAX_NESTED + 1)), Err(fault));
    }

    #[test]
    fn functions_beside_one_another_are_not_nested() {
        let many = "def f():\n    return 1\n\n# between\n".repeat(100);
        assert_eq!(check(&many), Ok(()));
    }

    #[test]
    fn a_program_may_be_as_long_as_is_published() {
        let longest = "#".repeat(RULES.source_bytes);
        assert_eq!(check(&longest), Ok(()));
        let bytes = RULES.source_bytes + 1;
        let fault = Fault::TooLong { bytes, limit: RULES.source_bytes };
        assert_eq!(check(&format!("{longest}#")), Err(fault));
    }
}
