//! How long it takes to list a folder: `cargo run --release -p trove-folders --example listing -- DIR`.
//!
//! Each line is a look at everything, the first of them cold. Without `DIR` it makes a folder of
//! 100,000 files in 1,000 folders below the system's temporary folder, and removes it.

#![expect(clippy::print_stdout, reason = "it is a measurement")]

use std::{fs, path::PathBuf, sync::Arc, time::Instant};

use trove_core::{SourceId, source::Indexing};
use trove_folders::{Folder, FolderSettings};

const LOOKS: usize = 5;
const FOLDERS: usize = 1_000;
const FILES: usize = 100;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = std::env::args().nth(1).map(PathBuf::from);
    let path = match &given {
        Some(path) => path.clone(),
        None => made()?,
    };
    for _ in 0..LOOKS {
        let settings = FolderSettings {
            id: SourceId::new("measured")?,
            path: path.canonicalize()?,
            ignore: Vec::new(),
            include: Vec::new(),
            index: Indexing::Off,
        };
        let source = Arc::new(Folder::new(settings)?).into_source();
        let began = Instant::now();
        let listing = source.list().await?;
        println!("{} resources in {:?}", listing.resources.len(), began.elapsed());
    }
    if given.is_none() {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

fn made() -> std::io::Result<PathBuf> {
    let root = std::env::temp_dir().join(format!("trove-listing-{}", std::process::id()));
    for folder in 0..FOLDERS {
        let folder = root.join(format!("folder-{folder}"));
        fs::create_dir_all(&folder)?;
        for file in 0..FILES {
            fs::write(folder.join(format!("file-{file}.md")), "text\n")?;
        }
    }
    Ok(root)
}
