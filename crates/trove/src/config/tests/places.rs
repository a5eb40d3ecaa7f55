//! Where the configuration and the state lie.

use super::*;

/// Which of the places wins, by the id of the server that each of them names.
#[track_caller]
fn check_place(files: &[&str], env: &[(&'static str, &str)], explicit: Option<&str>, expect: &str) {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("cwd")).unwrap();
    for file in files {
        let id = file.split('/').next().unwrap();
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), format!("[servers.{id}]\ncommand = 'x'\n")).unwrap();
    }
    let mut environment = Env::default().with("HOME", root.join("home").display().to_string());
    for (name, value) in env {
        let value = value.replace('~', root.to_str().unwrap());
        environment = environment.with(name, value);
    }
    let cwd = root.join("cwd");
    let explicit = explicit.map(PathBuf::from);
    let request = Request { explicit, cwd, env: &environment, flags: Overrides::default() };
    let loaded = load(&request);
    let ids: Vec<&str> = loaded.config.upstreams.iter().map(|server| server.id.as_str()).collect();
    assert_eq!((ids.join(" ").as_str(), loaded.origin.is_some()), (expect, !expect.is_empty()));
}

#[test]
fn the_file_is_sought_in_order() {
    let everywhere = ["flag/f", "env/f", "cwd/trove.toml", "xdg/trove/trove.toml"];
    let env = [("TROVE_CONFIG", "../env/f"), ("XDG_CONFIG_HOME", "~/xdg")];
    check_place(&everywhere, &env, Some("../flag/f"), "flag");
    check_place(&everywhere, &env, None, "env");
    check_place(&everywhere, &env[1..], None, "cwd");
    check_place(&everywhere[3..], &env[1..], None, "xdg");
    check_place(&["home/.config/trove/trove.toml"], &[("TROVE_CONFIG", "")], None, "home");
    check_place(&[], &[], None, "");
}

#[test]
fn a_named_file_must_exist() {
    let env = Env::default().with("HOME", "/home/ann");
    let explicit = Some("/none/x.toml".into());
    let cwd = PathBuf::from("/none");
    let loaded = load(&Request { explicit, cwd, env: &env, flags: Overrides::default() });
    assert!(!loaded.is_usable());
    assert_eq!(
        shown(&loaded.problems),
        "x.toml: error: the file cannot be read: No such file or directory (os error 2)\n  \
         hint: name a file Trove may read, with --config or TROVE_CONFIG"
    );
}

#[test]
fn state_is_kept_where_the_environment_says() {
    let state = |env: Env| {
        let cwd = PathBuf::from("/srv");
        let request = Request { explicit: None, cwd, env: &env, flags: Overrides::default() };
        let loaded = load(&request);
        let Setting { value, origin } = loaded.config.state_dir;
        format!("{} {origin} {}", value.display(), shown(&loaded.problems))
    };
    assert_eq!(state(Env::default().with("TROVE_HOME", "t")), "/srv/t env ");
    assert_eq!(state(Env::default().with("XDG_STATE_HOME", "/s")), "/s/trove default ");
    assert_eq!(state(Env::default().with("HOME", "/h")), "/h/.local/state/trove default ");
    assert_eq!(
        state(Env::default()),
        "/srv/.trove default warning: no home folder is known, so state is kept in /srv/.trove\n  \
         hint: set `TROVE_HOME` or `HOME`"
    );
}
