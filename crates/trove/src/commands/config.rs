//! `trove config`: check, show, schema.

use super::{Failed, configure, exit, load_as_is, say};
use crate::{
    cli::{ConfigCommand, Global},
    config::{self, Overrides},
};

pub(super) fn config(global: &Global, command: ConfigCommand) -> Result<(), Failed> {
    let text = match command {
        ConfigCommand::Check(output) => {
            let loaded = load_as_is(global)?;
            say(&if output.json { format!("{}\n", loaded.report_json()) } else { loaded.report() });
            if !loaded.is_sound() {
                // Everything has been said; only the exit code is left.
                std::process::exit(exit::CONFIG.into());
            }
            return Ok(());
        }
        ConfigCommand::Show(command) if command.origin => {
            let (loaded, _) = configure(global, Overrides::default())?;
            let origins = config::show_origins(&loaded.config);
            if command.output.json { format!("{:#}\n", origins.0) } else { origins.1 }
        }
        ConfigCommand::Show(command) => {
            let (loaded, _) = configure(global, Overrides::default())?;
            if command.output.json {
                format!("{:#}\n", config::show(&loaded.config))
            } else {
                config::show_text(&loaded.config)
            }
        }
        ConfigCommand::Schema(_) => format!("{:#}\n", config::schema()),
    };
    say(&text);
    Ok(())
}
