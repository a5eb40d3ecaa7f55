//! `trove completions`: a script that makes a shell ask this program how a line may go on.

use clap_complete::env::Shells;
use serde_json::json;

use super::{Class, Failed, say};
use crate::cli::Completions;

pub(super) fn completions(completions: &Completions) -> Result<(), Failed> {
    let script = script(&completions.shell)?;
    if completions.output.json {
        let told = json!({ "success": true, "shell": completions.shell, "script": script });
        say(&format!("{told}\n"));
    } else {
        say(&script)
    }
    Ok(())
}

fn script(shell: &str) -> Result<String, Failed> {
    let broken = |error: &dyn std::fmt::Display| {
        Failed::new(Class::InvalidArguments, format!("no completions for this shell: {error}"))
    };
    if shell == "bash" {
        return Ok(BASH.to_owned());
    }
    let shells = Shells::builtins();
    let shell = shells.completer(shell).ok_or_else(|| broken(&shell))?;
    let mut script = Vec::new();
    // By its name: the program may move, and the script stays.
    shell
        .write_registration("COMPLETE", "trove", "trove", "trove", &mut script)
        .map_err(|error| broken(&error))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Bash takes a line apart at colons, which every URI has. The words are put together again before
/// we are asked. Of our offers only the part behind the last colon is given, e.g. `//item/1`.
const BASH: &str = r#"_trove() {
    local IFS=$' \t\n' line="${COMP_LINE:0:COMP_POINT}"
    local words
    read -ra words <<< "$line"
    [[ "$line" == *[[:space:]] ]] && words+=("")
    local current="${words[${#words[@]}-1]}"
    local kept="${current%"${current##*[:=]}"}"
    local IFS=$'\013'
    COMPREPLY=($(
        _CLAP_IFS="$IFS" \
        _CLAP_COMPLETE_INDEX="$((${#words[@]} - 1))" \
        _CLAP_COMPLETE_COMP_TYPE="${COMP_TYPE:-9}" \
        _CLAP_COMPLETE_SPACE="true" \
        COMPLETE="bash" \
        trove -- "${words[@]}"
    )) || { unset COMPREPLY; return; }
    local i
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]="${COMPREPLY[i]#"$kept"}"; done
    [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[=/:] ]] && compopt -o nospace 2> /dev/null
    return 0
}
complete -o bashdefault -F _trove trove
"#;
