//! Puts Trove in the place of a client's servers: they go into `trove.toml`, and the client gets
//! the one entry of ours.
//!
//! A secret stays in the client's file: `trove.toml` names a variable, and our entry there holds
//! its value. What cannot be moved without loss stays where it is, with the reason.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value as Json;
use toml_edit::{DocumentMut, Item, value};
use trove_core::SourceId;
use trove_mcp::upstream::{Piece, Reach, Text, UpstreamConfig};

use super::{
    backup::Original,
    beside::entries,
    change::Wish,
    convert::{Imported, Needed, Written},
    edit::Spot,
    edit_yaml,
    entry::{Entry, Launch, check_name},
    error::ClientError,
    gather::{Gathered, LeftOut, Request, Twin, gather},
    locate::{Host, Scope},
    table::{Form, Row, TokenBy},
    text::Dressed,
    written::toml_with,
};
use crate::config::{
    Client,
    tree::{Node, Value},
};

/// The client's side of what is to be moved.
pub(crate) struct Found {
    /// The file that gets our entry.
    pub(crate) path: PathBuf,
    /// The servers that can be moved.
    pub(crate) servers: Vec<Movable>,
    /// Those that stay.
    pub(crate) left_out: Vec<LeftOut>,
    /// The variables of our entry.
    env: BTreeMap<String, String>,
    /// Variables that must be set where Trove is started.
    pub(crate) unset: Vec<Needed>,
}

/// One server that can be moved.
pub(crate) struct Movable {
    /// The file it stands in.
    pub(crate) file: PathBuf,
    /// Its name there.
    pub(crate) name: String,
    /// Its id in `trove.toml`.
    pub(crate) id: SourceId,
    /// As it will stand there; `None` if it does already.
    pub(crate) imported: Option<Imported>,
    /// Its entry, to be put back.
    pub(crate) entry: Json,
}

/// A file that is to be changed.
#[derive(Debug)]
pub(crate) struct FileChange {
    pub(crate) original: Original,
    /// The bytes it shall hold; `None`: it shall not be there.
    pub(crate) fresh: Option<Vec<u8>>,
}

impl FileChange {
    pub(crate) fn is_one(&self) -> bool {
        self.original.bytes != self.fresh
    }
}

/// Looks at what can be moved out of a client.
pub(crate) fn find_movable(
    host: &Host<'_>,
    wish: &Wish<'_>,
    (existing, own_url): (&[UpstreamConfig], String),
) -> Result<Found, ClientError> {
    check_name(wish.name)?;
    let path = host.file(wish.row, wish.scope, wish.name)?;
    let files = files(host, wish, &path);
    let only = Some(files.clone());
    let request = Request { rows: vec![wish.row], from: None, only, existing, own_url };
    let Gathered { servers, left_out, problems, .. } = gather(host, &request);
    let mut found = Found {
        path,
        servers: Vec::new(),
        left_out: Vec::new(),
        env: BTreeMap::new(),
        unset: Vec::new(),
    };
    if let Some(problem) = problems.iter().find(|one| one.line.is_none()) {
        let (path, what) = (found.path, problem.to_string());
        return Err(ClientError::Unfit { path, what, hint: "mend the file first".to_owned() });
    }
    let trees = trees(wish.row, &files)?;
    found.env = variables_of(wish, trees.get(&found.path));
    for imported in servers {
        let origin = imported.origin.clone();
        match found.take_in(wish.row, &trees, imported) {
            Ok(()) => {}
            Err(why) => found.left_out.push(LeftOut { origin, why, twin: None }),
        }
    }
    for left in left_out {
        let twin = left.twin.clone().filter(|twin| twin.is_whole);
        let entry = entry_of(wish.row, &trees, &left.origin.path, &left.origin.name);
        match (twin, entry) {
            (Some(twin), Ok(entry)) => {
                let (file, name) = (left.origin.path.clone(), left.origin.name.clone());
                match found.give_to_twin(wish.row, existing, &twin) {
                    Ok(()) => {
                        let id = twin.id;
                        found.servers.push(Movable { file, name, id, imported: None, entry });
                    }
                    Err(why) => found.left_out.push(LeftOut { why, ..left }),
                }
            }
            _ => found.left_out.push(left),
        }
    }
    found.keep_shared_files(wish, &trees);
    Ok(found)
}

/// The files whose servers are moved: that which gets our entry, and of a client that has one
/// for each server all of its.
fn files(host: &Host<'_>, wish: &Wish<'_>, path: &Path) -> Vec<(Scope, PathBuf)> {
    if wish.row.form != Form::OwnYaml {
        return vec![(wish.scope, path.to_owned())];
    }
    let all = host.readable_files(wish.row).into_iter();
    all.filter(|(scope, _)| *scope == wish.scope).collect()
}

fn trees(row: &Row, files: &[(Scope, PathBuf)]) -> Result<BTreeMap<PathBuf, Node>, ClientError> {
    let mut trees = BTreeMap::new();
    for (_, file) in files {
        let text = text_of(&Original::read(file)?)?;
        trees.insert(file.clone(), Spot::of(row, file, "").read(&text.text)?);
    }
    Ok(trees)
}

fn text_of(original: &Original) -> Result<Dressed, ClientError> {
    let bytes = original.bytes.as_deref().unwrap_or_default();
    Dressed::of(bytes).ok_or_else(|| ClientError::NotText { path: original.path.clone() })
}

/// The entry of a server right below the key that holds all of them.
fn entry_of(
    row: &Row,
    trees: &BTreeMap<PathBuf, Node>,
    file: &Path,
    name: &str,
) -> Result<Json, String> {
    let root = trees.get(file).ok_or("it stands in another file")?;
    let entry = Spot::of(row, file, name).find(root);
    let entry = entry.ok_or("it stands in a part of the file that Trove does not change")?;
    if holds_dates(entry) {
        return Err("it holds a date, which could not be put back".to_owned());
    }
    Ok(edit_yaml::json(entry))
}

fn holds_dates(node: &Node) -> bool {
    match &node.value {
        Value::Date => true,
        Value::List(nodes) => nodes.iter().any(holds_dates),
        Value::Map(entries) => entries.iter().any(|entry| holds_dates(&entry.node)),
        _ => false,
    }
}

impl Found {
    /// Takes a server in, with the variables that it needs.
    fn take_in(
        &mut self,
        row: &Row,
        trees: &BTreeMap<PathBuf, Node>,
        imported: Imported,
    ) -> Result<(), String> {
        let (file, name) = (imported.origin.path.clone(), imported.origin.name.clone());
        let entry = entry_of(row, trees, &file, &name)?;
        self.give(row, &imported.needed)?;
        let id = imported.id.clone();
        self.servers.push(Movable { file, name, id, imported: Some(imported), entry });
        Ok(())
    }

    /// Gives our entry the variables of a server; refuses one that stands for another value.
    fn give(&mut self, row: &Row, all: &[Needed]) -> Result<(), String> {
        let mut env = BTreeMap::new();
        let mut unset = Vec::new();
        for needed in all {
            let variable = &needed.variable;
            let Some(text) = written_by(row, needed)? else {
                if !needed.is_set {
                    unset.push(needed.clone());
                }
                continue;
            };
            if self.env.get(variable).is_some_and(|other| *other != text) {
                return Err(format!(
                    "its variable {variable} has another value for another server"
                ));
            }
            env.insert(variable.clone(), text);
        }
        self.env.extend(env);
        self.unset.extend(unset);
        Ok(())
    }

    /// Gives our entry the variables of a server that `trove.toml` has already. It must ask for
    /// the same ones there.
    fn give_to_twin(
        &mut self,
        row: &Row,
        existing: &[UpstreamConfig],
        twin: &Twin,
    ) -> Result<(), String> {
        let known = existing.iter().find(|one| one.id == twin.id);
        let asked: Vec<&str> = known.map(needs).unwrap_or_default();
        let has = |name: &&str| twin.needed.iter().any(|needed| needed.variable == **name);
        if !twin.needed.is_empty() && !asked.iter().all(has) {
            return Err(format!("`{}` in trove.toml takes other variables", twin.id));
        }
        let used: Vec<Needed> = twin
            .needed
            .iter()
            .filter(|needed| asked.contains(&needed.variable.as_str()))
            .cloned()
            .collect();
        self.give(row, &used)
    }

    /// Leaves servers where they are whose file holds something else too.
    fn keep_shared_files(&mut self, wish: &Wish<'_>, trees: &BTreeMap<PathBuf, Node>) {
        if wish.row.form != Form::OwnYaml {
            return;
        }
        let mut kept = Vec::new();
        for (file, root) in trees {
            let here = self.servers.iter().filter(|one| one.file == *file).count();
            let all =
                root.get(wish.row.key).map_or(0, |servers| entries(wish.row.form, servers).len());
            let is_own = file.parent().is_some_and(|folder| folder.ends_with("mcpServers"));
            if *file == self.path || !is_own || here < all {
                kept.push(file.clone());
            }
        }
        let (stay, go) = std::mem::take(&mut self.servers)
            .into_iter()
            .partition::<Vec<_>, _>(|one| kept.contains(&one.file));
        self.servers = go;
        for one in stay {
            let why = "its file holds more than servers that can be moved".to_owned();
            let Some(imported) = one.imported else { continue };
            self.left_out.push(LeftOut { origin: imported.origin, why, twin: None });
        }
    }

    /// The servers that are new to `trove.toml`.
    pub(crate) fn added(&self) -> Vec<Imported> {
        self.servers.iter().filter_map(|one| one.imported.clone()).collect()
    }

    /// The changes of the client's files.
    pub(crate) fn changes(
        &self,
        wish: &Wish<'_>,
        launch: &Launch,
    ) -> Result<Vec<FileChange>, ClientError> {
        let original = Original::read(&self.path)?;
        let dressed = text_of(&original)?;
        let spot = Spot::of(wish.row, &original.path, wish.name);
        let launch = self.with_env(launch);
        let entry = Entry::of(wish.row, wish.scope, wish.name, &launch)?;
        let mut text = dressed.text.clone();
        let mut changes = Vec::new();
        if wish.row.form == Form::OwnYaml {
            let mut files: Vec<&PathBuf> = self.servers.iter().map(|one| &one.file).collect();
            files.dedup();
            for file in files {
                changes.push(FileChange { original: Original::read(file)?, fresh: None });
            }
        } else {
            for one in &self.servers {
                let spot = Spot::of(wish.row, &original.path, &one.name);
                text = spot.take(&text)?.unwrap_or_default();
            }
        }
        let fresh = Some(dressed.dress(&spot.put(&text, &entry)?));
        // Ours first: a client that reads it at this moment has Trove, and the others too.
        changes.insert(0, FileChange { original, fresh });
        Ok(changes)
    }

    /// The launch with the variables of the servers.
    fn with_env(&self, launch: &Launch) -> Launch {
        let Launch::Stdio { command, args, .. } = launch else { return launch.clone() };
        Launch::Stdio { command: command.clone(), args: args.clone(), env: self.env.clone() }
    }

    /// The names of the variables of our entry.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.env.keys().map(String::as_str)
    }
}

/// The variables that our entry has already.
fn variables_of(wish: &Wish<'_>, root: Option<&Node>) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    let Some(root) = root else { return env };
    let entry = Spot::of(wish.row, Path::new(""), wish.name).find(root);
    let present = entry.and_then(|entry| entry.get(wish.row.stdio.env));
    for variable in present.map(Node::entries).unwrap_or_default() {
        if let Some(text) = variable.node.as_str() {
            env.insert(variable.key.clone(), text.to_owned());
        }
    }
    env
}

/// The variables that a server of `trove.toml` asks for.
fn needs(upstream: &UpstreamConfig) -> Vec<&str> {
    let texts: Vec<&Text> = match &upstream.reach {
        Reach::Stdio { command, args, env, .. } => {
            std::iter::once(command).chain(args).chain(env.values()).collect()
        }
        Reach::Http(remote) | Reach::Sse(remote) => {
            std::iter::once(&remote.url).chain(remote.headers.values()).collect()
        }
    };
    texts.into_iter().flat_map(|text| text.needs()).collect()
}

/// How a client's file says the value of a variable; `None` if it cannot.
fn written_by(row: &Row, needed: &Needed) -> Result<Option<String>, String> {
    match &needed.written {
        Some(Written::Literal(value)) => {
            let text = Text::new(value, row.client.dialect());
            match text.pieces().as_deref() {
                Ok([Piece::Literal(literal)]) if literal == value => Ok(Some(value.clone())),
                _ => Err("its secret would be read as a variable".to_owned()),
            }
        }
        Some(Written::Reference(text)) if row.client == Client::OpenCode => {
            Ok(Some(text.trim_start_matches('$').to_owned()))
        }
        Some(Written::Reference(text)) => Ok(Some(text.clone())),
        None => Ok(match row.remote.as_ref().map(|remote| remote.token) {
            Some(TokenBy::Variable(before, after)) => {
                Some(format!("{before}{}{after}", needed.variable))
            }
            _ => None,
        }),
    }
}

/// `trove.toml` with the servers in it, each with the client it was moved from.
pub(crate) fn config_with(
    text: &str,
    found: &Found,
    client: &str,
) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = toml_with(text, &found.added())?.parse()?;
    for one in found.servers.iter().filter(|one| one.imported.is_none()) {
        let servers = document.get_mut("servers").and_then(Item::as_table_like_mut);
        let server = servers.and_then(|all| all.get_mut(one.id.as_str()));
        if let Some(server) = server.and_then(Item::as_table_like_mut)
            && !server.contains_key("moved_from")
        {
            server.insert("moved_from", value(client));
        }
    }
    Ok(document.to_string())
}
