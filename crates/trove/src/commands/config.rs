//! `trove config`: check, show, schema.

use std::io::Write as _;

use super::{Failed, exit};
use crate::{
    cli::{ConfigCommand, Global},
    config::{self, Loaded, Overrides, ProcessEnv, Request},
};

pub(super) fn config(global: &Global, command: ConfigCommand) -> Result<(), Failed> {
    let text = match command {
        ConfigCommand::Check(output) => {
            let loaded = load(global)?;
            say(&if output.json { format!("{}\n", loaded.report_json()) } else { loaded.report() });
            if !loaded.is_usable() {
                // Everything has been said; only the exit code is left.
                std::process::exit(exit::CONFIG.into());
            }
            return Ok(());
        }
        ConfigCommand::Show(output) => {
            let loaded = load(global)?;
            if output.json {
                format!("{:#}\n", config::show(&loaded.config))
            } else {
                config::show_text(&loaded.config)
            }
        }
        ConfigCommand::Schema => format!("{:#}\n", config::schema()),
    };
    say(&text);
    Ok(())
}

fn say(text: &str) {
    // A reader that has seen enough, such as `head`, is no fault.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn load(global: &Global) -> Result<Loaded, Failed> {
    let cwd = std::env::current_dir().map_err(|error| {
        Failed::new(exit::CONFIG, "Config", format!("the current folder is gone: {error}"))
    })?;
    let flags = Overrides::default();
    Ok(config::load(&Request { explicit: global.config.clone(), cwd, env: &ProcessEnv, flags }))
}
