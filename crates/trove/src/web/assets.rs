//! The files of the page, embedded: no build step, no other place to fetch them from.

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};

/// One file.
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) mime: &'static str,
    pub(super) bytes: &'static [u8],
    /// Changes with the bytes.
    pub(super) tag: String,
}

const JS: &str = "text/javascript; charset=utf-8";

/// Path under `/`, type and bytes of every file.
macro_rules! files {
    ($($name:literal, $mime:expr;)*) => {
        [$(($name, $mime, include_bytes!(concat!("../../../../web/", $name)).as_slice())),*]
    };
}

/// Every file, the page itself first.
pub(super) static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let files = files! {
        "index.html", "text/html; charset=utf-8";
        "style.css", "text/css; charset=utf-8";
        "icon.svg", "image/svg+xml";
        "app.js", JS;
        "lib/acts.js", JS;
        "lib/api.js", JS;
        "lib/dom.js", JS;
        "lib/figures.js", JS;
        "lib/glance.js", JS;
        "lib/lanes.js", JS;
        "lib/list.js", JS;
        "lib/merge.js", JS;
        "lib/news.js", JS;
        "lib/palette.js", JS;
        "lib/router.js", JS;
        "lib/servers.js", JS;
        "lib/sorry.js", JS;
        "lib/text.js", JS;
        "lib/treemap.js", JS;
        "lib/unseen.js", JS;
        "lib/wait.js", JS;
        "views/activity.js", JS;
        "views/browse.js", JS;
        "views/clients.js", JS;
        "views/conflicts.js", JS;
        "views/door.js", JS;
        "views/guide.js", JS;
        "views/health.js", JS;
        "views/home.js", JS;
        "views/map.js", JS;
        "views/model.js", JS;
        "views/resource.js", JS;
        "views/search.js", JS;
        "views/settings.js", JS;
        "views/templates.js", JS;
    };
    let asset = |(path, mime, bytes): (&'static str, &'static str, &'static [u8])| {
        let digest = digest(&SHA256, bytes);
        let tag = trove_core::hex(&digest.as_ref()[..8]);
        Asset { path, mime, bytes, tag: format!("\"{tag}\"") }
    };
    files.into_iter().map(asset).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The embedded files are those of `lib/`, `views/` and the top of `web/`.
    #[test]
    fn every_file_of_the_page_is_embedded() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
        let mut found = Vec::new();
        for folder in ["", "lib", "views"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_file() {
                    let name = entry.file_name().into_string().unwrap();
                    found.push(if folder.is_empty() { name } else { format!("{folder}/{name}") });
                }
            }
        }
        found.sort();
        let mut embedded: Vec<&str> = ASSETS.iter().map(|asset| asset.path).collect();
        embedded.sort_unstable();
        assert_eq!(embedded, found);
    }

    /// The budget is 300 KB compressed; this holds without compressing.
    #[test]
    fn the_page_is_light() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.bytes.len()).sum();
        assert!(bytes < 250_000, "{bytes}");
    }
}
