//! Remembers which era each server speaks, so that it is asked only once.

use std::{collections::BTreeMap, path::Path};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::debug;
use trove_core::{
    SourceId,
    state_file::{Damaged, Form, StateFile},
};

use super::config::{Protocol, UpstreamConfig};
use crate::era::Version;

static FORM: Form = Form { max_bytes: 4 << 20, version: 1, damaged: Damaged::MovedAside };

/// The eras learnt so far, kept in a file where there is one.
#[derive(Debug, Default)]
pub struct Eras {
    file: Option<StateFile>,
    known: Mutex<BTreeMap<String, Known>>,
}

/// The era that one server was found to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// The fingerprint of its entry: behind another entry is another server.
    entry: u64,
    is_modern: bool,
}

impl Eras {
    /// Those that `eras.json` in a state folder remembers.
    pub fn in_folder(state: &Path) -> Eras {
        let file = StateFile::new(state.join("eras.json"), &FORM);
        let known = match file.read_json() {
            Ok(known) => known.unwrap_or_default(),
            Err(error) => {
                debug!(%error, "eras of the last run not read");
                BTreeMap::new()
            }
        };
        Eras { file: Some(file), known: Mutex::new(known) }
    }

    /// How to greet a server: as configured, else as it was met last time.
    pub(crate) fn choose(&self, config: &UpstreamConfig) -> Protocol {
        if config.protocol != Protocol::Auto {
            return config.protocol;
        }
        let entry = config.reach.fingerprint();
        let known = self.known().get(config.id.as_str()).copied();
        match known.filter(|known| known.entry == entry) {
            Some(Known { is_modern: true, .. }) => Protocol::Modern,
            Some(Known { is_modern: false, .. }) => Protocol::Legacy,
            None => Protocol::Auto,
        }
    }

    pub(crate) fn remember(&self, config: &UpstreamConfig, version: Version) {
        let now = Known { entry: config.reach.fingerprint(), is_modern: version.is_modern() };
        let mut known = self.known();
        if known.insert(config.id.to_string(), now) != Some(now) {
            self.save(&known);
        }
    }

    /// The server did not answer as remembered: ask again next time.
    pub(crate) fn forget(&self, id: &SourceId) {
        let mut known = self.known();
        if known.remove(id.as_str()).is_some() {
            self.save(&known);
        }
    }

    fn save(&self, known: &BTreeMap<String, Known>) {
        let Some(file) = &self.file else { return };
        if let Err(error) = file.write_json(known) {
            debug!(%error, "eras not kept for the next start");
        }
    }

    fn known(&self) -> parking_lot::MutexGuard<'_, BTreeMap<String, Known>> {
        self.known.lock()
    }
}
