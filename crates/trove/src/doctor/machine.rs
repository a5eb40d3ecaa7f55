//! The machine around the program: the port, the state folder, the token, the clients.

use std::{
    fs,
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use trove_core::files;

use super::{Finding, Level};
use crate::{
    clients::{Host, Scope, Standing, Survey, survey},
    token,
};

/// Whether HTTP could be served.
pub(crate) fn check_http(address: SocketAddr) -> Option<Finding> {
    // It is let go at once; nothing ever connects to it.
    let error = TcpListener::bind(address).err()?;
    let (level, message, fix) = match error.kind() {
        ErrorKind::AddrInUse => (
            Level::Warning,
            format!("{address} is taken"),
            "stop what listens there, be it a Trove of another configuration or version, or change `addr` in [http]",
        ),
        ErrorKind::PermissionDenied => (
            Level::Error,
            format!("listening on {address} is not allowed"),
            "use a port above 1023 as `addr` in [http]",
        ),
        _ => (
            Level::Error,
            format!("{address} cannot be listened on: {error}"),
            "use an address of this machine, such as 127.0.0.1:7420, as `addr` in [http]",
        ),
    };
    Some(Finding::new(level, ("http", &address.to_string()), message, fix))
}

/// Whether state can be kept, and the token is its owner's alone.
pub(crate) fn check_state(state: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let shown = state.display().to_string();
    if let Err(error) = try_to_write(state) {
        let message = format!("the state folder cannot be written to: {error}");
        let fix = "let yourself write there, or name another folder with TROVE_HOME";
        findings.push(Finding::new(Level::Error, ("state", &shown), message, fix));
    }
    if state.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o022 != 0) {
        let message =
            "others on this machine can write to the state folder, and so approve servers";
        let fix = format!("run: chmod go-w '{shown}'");
        findings.push(Finding::new(Level::Warning, ("state", &shown), message, fix));
    }
    let token = token::path(state);
    if let Ok(metadata) = token.metadata()
        && metadata.permissions().mode() & 0o077 != 0
    {
        let message = "others on this machine can read the token";
        let fix = format!(
            "run: chmod 600 '{0}'; if somebody may have read it, remove it, and a new one is made",
            token.display()
        );
        let shown = token.display().to_string();
        findings.push(Finding::new(Level::Error, ("state", &shown), message, fix));
    }
    findings
}

fn try_to_write(state: &Path) -> io::Result<()> {
    files::make_folder(state)?;
    if state.metadata()?.permissions().readonly() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    let probe = state.join(format!(".doctor-{}", std::process::id()));
    files::draft(&probe)?;
    fs::remove_file(probe)
}

/// Whether the clients that have Trove can start it.
pub(crate) fn check_clients(host: &Host<'_>) -> Vec<Finding> {
    survey(host, "trove").iter().filter_map(client).collect()
}

fn client(survey: &Survey) -> Option<Finding> {
    let project = if survey.scope == Scope::Project { " --scope project" } else { "" };
    let again = format!("run: trove install --client {}{project}", survey.row.word);
    let (level, message, fix) = match &survey.standing {
        Standing::ProgramGone(program) => {
            let message = format!("its entry starts {}, which is not there", program.display());
            (Level::Error, message, again)
        }
        Standing::ConfigGone(config) => {
            let message = format!("its entry names {}, which is not there", config.display());
            (Level::Error, message, format!("{again} where your trove.toml is"))
        }
        Standing::Unreadable(why) => (
            Level::Warning,
            why.clone(),
            "mend the file; its client cannot read it either".to_owned(),
        ),
        Standing::Absent | Standing::Without | Standing::Installed | Standing::Taken => {
            return None;
        }
    };
    Some(Finding::new(level, ("client", survey.row.word), message, fix))
}
