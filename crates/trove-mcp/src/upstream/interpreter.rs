//! The interpreter that a script names in its first line.
//!
//! A system says of a script without one what it says of no file at all.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use trove_core::files;

/// How much of a script a system looks at itself.
const MAX_FIRST_LINE: u64 = 256;

/// The places of a command: as it is written, e.g. `./server`, or on the PATH.
pub(super) fn places(command: &str, here: &Path, path: Option<&str>) -> Vec<PathBuf> {
    if command.contains('/') {
        return vec![here.join(command)];
    }
    let folders = std::env::split_paths(path.unwrap_or_default());
    folders.map(|folder| folder.join(command)).collect()
}

/// The interpreter of a script, e.g. of `#!/usr/bin/ruby`, if it is not there.
pub fn missing_interpreter(script: &Path) -> Option<String> {
    let file = files::open(script).ok()?;
    let mut beginning = Vec::new();
    file.take(MAX_FIRST_LINE).read_to_end(&mut beginning).ok()?;
    let line = beginning.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    // A carriage return is part of the name, as it is for the system.
    let name = line.trim_matches([' ', '\t']).split([' ', '\t']).next()?;
    (!name.is_empty() && !Path::new(name).exists()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interpreter_that_is_not_there_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("script");
        let missing = |text: &str| {
            std::fs::write(&script, text).expect("a script");
            missing_interpreter(&script)
        };
        assert_eq!(missing("#! /no/such/python3 -u\nprint()"), Some("/no/such/python3".to_owned()));
        assert_eq!(missing("#!/bin/sh\r\necho\r\n"), Some("/bin/sh\r".to_owned()));
        assert_eq!(missing("#!/no/such/python3"), Some("/no/such/python3".to_owned()));
        for fine in ["#!/bin/sh\n", "#!/bin/sh -e", "", "#!", "#!\n/no", "\u{7f}ELF", "# !/no\n"] {
            assert_eq!(missing(fine), None, "{fine}");
        }
        assert_eq!(missing_interpreter(folder.path()), None);
        assert_eq!(missing_interpreter(&folder.path().join("nothing")), None);
    }
}
