//! The recipes that are part of the program, one file each.

use std::path::Path;

use trove_mcp::recipe::{Recipe, Shipped};

use super::{
    super::{
        problem::Problems,
        read::{Key, Read as _, Spot, section},
        tree,
    },
    Resources, recipe,
};

/// Their names and texts.
const FILES: [(&str, &str); 16] = [
    ("atlassian", include_str!("../../../../../recipes/atlassian.toml")),
    ("context7", include_str!("../../../../../recipes/context7.toml")),
    ("fetch", include_str!("../../../../../recipes/fetch.toml")),
    ("filesystem", include_str!("../../../../../recipes/filesystem.toml")),
    ("git", include_str!("../../../../../recipes/git.toml")),
    ("github", include_str!("../../../../../recipes/github.toml")),
    ("gitlab", include_str!("../../../../../recipes/gitlab.toml")),
    ("google-drive", include_str!("../../../../../recipes/google-drive.toml")),
    ("linear", include_str!("../../../../../recipes/linear.toml")),
    ("memory", include_str!("../../../../../recipes/memory.toml")),
    ("notion", include_str!("../../../../../recipes/notion.toml")),
    ("obsidian", include_str!("../../../../../recipes/obsidian.toml")),
    ("postgres", include_str!("../../../../../recipes/postgres.toml")),
    ("sentry", include_str!("../../../../../recipes/sentry.toml")),
    ("slack", include_str!("../../../../../recipes/slack.toml")),
    ("sqlite", include_str!("../../../../../recipes/sqlite.toml")),
];

section! {
    /// A shipped recipe.
    RecipeFile {
        /// A sentence on what it makes.
        about: Key<String>,
        /// Packages, modules, images and hosts by which its servers are recognised.
        packages: Key<Vec<String>>,
        /// How its servers call themselves.
        servers: Key<Vec<String>>,
        /// Whether it waits for a person even where its tools only read.
        asks: Key<bool>,
        /// A recipe for each generation of the server.
        variant: Vec<Spot<Resources>>,
    }
}

/// All of them. A test sees to it that each can be read.
pub(super) fn all() -> Vec<Shipped> {
    FILES.iter().filter_map(|(name, text)| read(name, text).ok()).collect()
}

/// One of them, or the problems in its file.
fn read(name: &str, text: &str) -> Result<Shipped, String> {
    let mut problems = Problems::of(Some(Path::new(name).with_extension("toml")));
    let shipped = parse(name, text, &mut problems);
    let problems: Vec<String> = problems.into_sorted().iter().map(ToString::to_string).collect();
    match shipped {
        Some(shipped) if problems.is_empty() => Ok(shipped),
        _ => Err(problems.join("\n")),
    }
}

fn parse(name: &str, text: &str, problems: &mut Problems) -> Option<Shipped> {
    let node = match tree::parse_toml(text) {
        Ok(node) => node,
        Err(errors) => {
            for error in errors {
                problems.error(error.at, error.message, "mend the syntax here");
            }
            return None;
        }
    };
    let file = RecipeFile::read(&node, "", problems)?;
    let mut variants: Vec<std::sync::Arc<Recipe>> = Vec::new();
    for variant in &file.variant {
        variants.push(recipe(Some(name), &variant.value, variant.at, problems)?.into());
    }
    Some(Shipped {
        name: name.to_owned(),
        about: file.about.take().unwrap_or_default(),
        packages: file.packages.take().unwrap_or_default(),
        servers: file.servers.take().unwrap_or_default(),
        asks: file.asks.take().unwrap_or_default(),
        variants,
    })
}

#[cfg(test)]
mod tests {
    use trove_core::{Json, resource::Named};
    use trove_mcp::recipe::misfits;

    use super::*;

    #[test]
    fn every_shipped_recipe_can_be_read() {
        for (name, text) in FILES {
            let shipped = read(name, text).unwrap_or_else(|problems| panic!("{problems}"));
            assert!(!shipped.about.is_empty() && !shipped.variants.is_empty(), "{name}");
            assert!(!shipped.packages.is_empty(), "{name}");
        }
    }

    /// The tools of one package that a recipe is for, as recorded.
    #[derive(serde::Deserialize)]
    struct Recorded {
        server: String,
        tools: Vec<serde_json::Value>,
    }

    #[test]
    fn every_recipe_fits_the_tools_of_the_packages_it_is_for() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/tools");
        for shipped in all() {
            let file = folder.join(format!("{}.json", shipped.name));
            let text = trove_core::files::read_text(&file, 1 << 20).expect("the recorded tools");
            let recorded: Vec<Recorded> = serde_json::from_str(&text).expect("recorded tools");
            let mut fitting = vec![false; shipped.variants.len()];
            for Recorded { server, tools } in &recorded {
                let tool = |tool: &serde_json::Value| Named::new(Json::of(tool), "name");
                let tools: Vec<Named> = tools.iter().filter_map(tool).collect();
                let misfits = shipped.variants.iter().map(|one| misfits(one, &tools, true));
                let misfits: Vec<Vec<String>> = misfits.collect();
                assert!(misfits.iter().any(Vec::is_empty), "{server}: {misfits:?}");
                for (fits, misfits) in fitting.iter_mut().zip(&misfits) {
                    *fits |= misfits.is_empty();
                }
            }
            assert!(fitting.iter().all(|fits| *fits), "{}: a variant fits none", shipped.name);
        }
    }

    #[test]
    fn a_server_is_recognised_by_what_is_started() {
        let all = all();
        let of = |line: &str| {
            let found = all.iter().find(|one| one.is_named_in(line.split(' ')));
            found.map(|one| one.name.as_str())
        };
        for (line, name) in [
            ("npx -y @modelcontextprotocol/server-filesystem /docs", Some("filesystem")),
            ("npx -y @modelcontextprotocol/server-github@2025.4.8", Some("github")),
            (
                "node /x/node_modules/@modelcontextprotocol/server-memory/dist/index.js",
                Some("memory"),
            ),
            ("uvx mcp-server-git --repository .", Some("git")),
            ("python -m mcp_server_sqlite --db-path a.db", Some("sqlite")),
            ("docker run -i --rm ghcr.io/github/github-mcp-server", Some("github")),
            ("https://api.githubcopilot.com/mcp/", Some("github")),
            ("npx -y @modelcontextprotocol/server-filesystem-extra /docs", None),
            ("npx -y @example/server", None),
        ] {
            assert_eq!(of(line), name, "{line}");
        }
    }
}
