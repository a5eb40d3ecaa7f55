//! Where the links and pictures of a document lead, if that is a resource of the catalogue.
//!
//! Only what the reader's own view lists counts; every other address leads nowhere. Pictures are
//! read as any other resource is, and only a few of them.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::future::join_all;
use trove_core::{
    PublicUri,
    content::{self, Form, Payload, sniff},
    source::Ask,
    uri::scheme,
};

use super::{Web, show};

/// The most addresses of one document that are looked up.
const MAX_LINKS: usize = 500;
/// The most pictures that are fetched for one, how large each, and how long all may take.
const MAX_PICTURES: usize = 12;
const MAX_PICTURE_BYTES: usize = 2 << 20;
const PICTURES_WITHIN: Duration = Duration::from_secs(3);

/// Addresses as they are written, with what they lead to.
#[derive(Default)]
pub(super) struct Leads {
    links: HashMap<String, String>,
    /// As addresses that hold the picture.
    pictures: HashMap<String, String>,
}

impl Leads {
    /// The addresses of a document that is called `base`.
    pub(super) async fn of(web: &Web, base: &str, text: &str) -> Leads {
        let mut written = show::addresses(text);
        written.truncate(MAX_LINKS);
        if written.is_empty() {
            return Leads::default();
        }
        let mut meant: HashMap<String, String> = HashMap::new();
        for address in written {
            if let Some(uri) = joined(base, &address) {
                meant.insert(address, uri);
            }
        }
        let wanted: HashSet<&str> = meant.values().map(String::as_str).collect();
        let view = web.gateway.view(&web.caller()).await;
        let mut listed: HashSet<String> = HashSet::new();
        let mut pictures: HashSet<String> = HashSet::new();
        for (resource, is_closed) in view.resources() {
            let uri = resource.public.as_str();
            if is_closed || !wanted.contains(uri) {
                continue;
            }
            listed.insert(uri.to_owned());
            let details = view.snapshot().details(resource);
            if details.mime().is_some_and(|mime| mime.starts_with("image/")) {
                pictures.insert(uri.to_owned());
            }
        }
        meant.retain(|_, uri| listed.contains(uri));
        let pictures = pictures_of(web, pictures).await;
        let shown = |uri: &String| pictures.get(uri).cloned();
        let drawn = meant.iter().filter_map(|(address, uri)| Some((address.clone(), shown(uri)?)));
        Leads { pictures: drawn.collect(), links: meant }
    }

    pub(super) fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    pub(super) fn link(&self, address: &str) -> Option<&str> {
        self.links.get(address).map(String::as_str)
    }

    pub(super) fn picture(&self, address: &str) -> Option<&str> {
        self.pictures.get(address).map(String::as_str)
    }
}

/// The pictures as addresses that hold them. One that comes too late is left out.
async fn pictures_of(web: &Web, wanted: HashSet<String>) -> HashMap<String, String> {
    let reads = wanted.into_iter().take(MAX_PICTURES).map(|uri| async move {
        let reading = tokio::time::timeout(PICTURES_WITHIN, picture(web, &uri)).await;
        Some((uri, reading.ok()??))
    });
    join_all(reads).await.into_iter().flatten().collect()
}

async fn picture(web: &Web, uri: &str) -> Option<String> {
    let uri = PublicUri::new(uri);
    let reading = web.gateway.read(&web.caller(), &uri, Ask::default()).await.ok()?;
    let first = content::contents(&reading.reply.body).into_iter().next()?;
    let bytes = match first.payload {
        Payload::Text(words) => words.text().into_owned().into_bytes(),
        Payload::Blob(bytes) => bytes,
        Payload::Odd(_) => return None,
    };
    if bytes.len() > MAX_PICTURE_BYTES {
        return None;
    }
    let kind = sniff(first.mime.as_deref(), &first.uri, &bytes);
    let mime = match kind.form {
        Form::Image(format) => format.mime(),
        // Drawn as an image: no script of it runs, and it asks for nothing.
        Form::Text if kind.mime == "image/svg+xml" => "image/svg+xml",
        Form::Json | Form::Text | Form::Binary => return None,
    };
    Some(format!("data:{mime};base64,{}", STANDARD.encode(bytes)))
}

/// What an address means in a document that is called `base`, e.g. `../b.md` in `docs://x/a/c.md`
/// is `docs://x/b.md`. `None` for a place in the document itself.
fn joined(base: &str, address: &str) -> Option<String> {
    let address = address.split('#').next().filter(|address| !address.is_empty())?;
    if scheme(address).is_some() {
        return Some(address.to_owned());
    }
    let base = base.split(['?', '#']).next()?;
    let (root, path) = match base.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.find('/').unwrap_or(rest.len());
            base.split_at(scheme.len() + 3 + host)
        }
        None => base.split_at(base.find(':')? + 1),
    };
    let mut parts: Vec<&str> = Vec::new();
    if !address.starts_with('/') {
        parts.extend(path.split('/').skip(1));
        parts.pop();
    }
    for part in address.trim_start_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("{root}/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, address: &str, expect: &str) {
        assert_eq!(joined(base, address).as_deref(), Some(expect), "{address} in {base}");
    }

    #[test]
    fn an_address_is_read_from_where_it_stands() {
        check("docs://runbooks/release.md", "incident.md", "docs://runbooks/incident.md");
        check("docs://x/a/c.md", "../b.md#part", "docs://x/b.md");
        check("docs://x/a/c.md", "./b.md?q=1", "docs://x/a/b.md?q=1");
        check("docs://x/a/c.md", "/b.md", "docs://x/b.md");
        check("docs://x", "b.md", "docs://x/b.md");
        check("file:///home/a.md", "b.md", "file:///home/b.md");
        check("docs://x/a.md", "wiki://y", "wiki://y");
        check("docs://x/a.md", "../../../b", "docs://x/b");
        assert_eq!(joined("docs://x/a.md", "#part"), None);
        assert_eq!(joined("odd", "b"), None);
    }

    #[test]
    fn what_leads_nowhere_has_no_link() {
        let leads = Leads::default();
        assert!(!leads.has_links());
        assert_eq!((leads.link("a"), leads.picture("a")), (None, None));
    }
}
