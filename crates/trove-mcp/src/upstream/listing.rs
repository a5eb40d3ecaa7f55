//! Everything a server lists, page by page, trusting nothing it says about the end.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::time::Instant;
use trove_core::{
    SourceError,
    aside::aside,
    json::{Json, Object, items},
    resource::{Freshness, Listing, Named, Resource, Scope, Template},
    source::{Ask, Outage},
};

use super::{
    conversation::Conversation,
    mend::{Entries, mended},
};
use crate::{bounds::Bounds, kin::CIRCLE, wire::code};

/// A listing, and whether the server would have gone on.
pub(crate) struct Listed {
    pub(crate) listing: Listing,
    pub(crate) is_cut: bool,
}

/// Lists what our clients are to see of a server.
pub(crate) async fn list(
    conversation: &Conversation,
    passes_tools: bool,
    timeout: Duration,
    bounds: &Bounds,
) -> Result<Listed, SourceError> {
    let offers = conversation.hello.offers;
    let deadline = Instant::now() + bounds.list_time;
    let pager = |method, key| Pager { conversation, method, key, timeout, deadline, bounds };
    let mut gathered = Gathered::default();
    let mut listing = Listing::default();
    let unread = &mut listing.unread;
    if offers.resources {
        // Without this list there is nothing to show: its failure is the listing's.
        let pages = unknown_is_empty(pager("resources/list", "resources").run().await)?;
        unread.resources = pages.broke_off;
        listing.resources = gathered.take("resources", pages, Resource::new, |r| r.uri.shared());
        gathered.shorten("resources", &mut listing.resources, bounds, |r| r.uri.as_str());
        let pages = pager("resources/templates/list", "resourceTemplates").run().await;
        let pages = gathered.excuse(pages, &mut unread.templates)?;
        listing.templates = gathered.take("templates", pages, Template::new, |t| t.text.shared());
        gathered.shorten("templates", &mut listing.templates, bounds, |t| t.text.as_str());
    }
    let named = |key| move |entry| Named::new(entry, key);
    if offers.skills {
        let pages =
            gathered.excuse(pager("skills/list", "skills").run().await, &mut unread.skills)?;
        listing.skills = gathered.take("skills", pages, named("uri"), |s| s.name.clone());
    }
    if passes_tools && offers.tools {
        let pages = gathered.excuse(pager("tools/list", "tools").run().await, &mut unread.tools)?;
        listing.tools = gathered.take(TOOLS, pages, named("name"), |t| t.name.clone());
        conversation.learn(&listing.tools, !unread.tools);
    }
    if passes_tools && offers.prompts {
        let pages =
            gathered.excuse(pager("prompts/list", "prompts").run().await, &mut unread.prompts)?;
        listing.prompts = gathered.take(PROMPTS, pages, named("name"), |p| p.name.clone());
    }
    limit_templates(&mut listing.templates, bounds, &mut gathered.omissions);
    listing.freshness = gathered.freshness.unwrap_or_default();
    listing.omissions = gathered.omissions;
    Ok(Listed { listing, is_cut: gathered.is_cut })
}

/// Lists the tools of a server for our own use; `None` if it offers none.
pub(crate) async fn tools(
    conversation: &Conversation,
    timeout: Duration,
    bounds: &Bounds,
) -> Result<Option<Vec<Named>>, SourceError> {
    if !conversation.hello.offers.tools {
        return Ok(None);
    }
    let deadline = Instant::now() + bounds.list_time;
    let (method, key) = ("tools/list", "tools");
    let pager = Pager { conversation, method, key, timeout, deadline, bounds };
    let pages = unknown_is_empty(pager.run().await)?;
    let is_whole = !pages.broke_off;
    let named = |entry| Named::new(entry, "name");
    let tools = Gathered::default().take(TOOLS, pages, named, |tool| tool.name.clone());
    conversation.learn(&tools, is_whole);
    Ok(Some(tools))
}

/// The names of the two lists whose entries are unlike all others.
const TOOLS: &str = "tools";
const PROMPTS: &str = "prompts";

/// Facts about several lists put together.
#[derive(Default)]
struct Gathered {
    omissions: Vec<String>,
    freshness: Option<Freshness>,
    is_cut: bool,
}

impl Gathered {
    /// A list whose reading failed is left to the next time; the others are shown. Only
    /// a server that is gone fails the whole.
    fn excuse(
        &mut self,
        pages: Result<Pages, SourceError>,
        unread: &mut bool,
    ) -> Result<Pages, SourceError> {
        match unknown_is_empty(pages) {
            Err(
                error @ (SourceError::Refused { .. }
                | SourceError::Malformed { .. }
                | SourceError::TooLarge { .. }
                | SourceError::TimedOut { .. }),
            ) => {
                *unread = true;
                self.omissions
                    .push(format!("a list could not be read, the last one stands: {error}"));
                Ok(Pages::default())
            }
            other => {
                *unread = other.as_ref().is_ok_and(|pages| pages.broke_off);
                other
            }
        }
    }

    /// Reads the entries of one list. One that is malformed or repeated costs only itself.
    fn take<T>(
        &mut self,
        what: &str,
        pages: Pages,
        read: impl Fn(Json) -> Option<T>,
        key: impl Fn(&T) -> Arc<str>,
    ) -> Vec<T> {
        aside(pages.bytes, || self.entries(what, pages, read, key))
    }

    fn entries<T>(
        &mut self,
        what: &str,
        pages: Pages,
        read: impl Fn(Json) -> Option<T>,
        key: impl Fn(&T) -> Arc<str>,
    ) -> Vec<T> {
        self.omissions.extend(pages.omissions);
        self.is_cut |= pages.is_cut;
        self.freshness = Some(self.freshness.map_or(pages.freshness, |f| f.and(pages.freshness)));
        let total = pages.entries.len();
        let mut mended_count = 0;
        let of = match what {
            TOOLS => Entries::Tools,
            PROMPTS => Entries::Prompts,
            _ => Entries::Resources,
        };
        let whole = |entry: Json| match mended(&entry, of) {
            Some(mended) => {
                mended_count += 1;
                mended
            }
            None => entry,
        };
        let mut all: Vec<T> = pages.entries.into_iter().map(whole).filter_map(read).collect();
        if mended_count > 0 {
            let why = format!(
                "of {mended_count} {what} members of a wrong type, or given twice, left out"
            );
            self.omissions.push(why);
        }
        let readable = all.len();
        let mut seen = HashSet::with_capacity(readable);
        all.retain(|one| seen.insert(key(one)));
        for (count, fault) in [(total - readable, "malformed"), (readable - all.len(), "repeated")]
        {
            if count > 0 {
                self.omissions.push(format!("{count} {fault} {what} left out"));
            }
        }
        all
    }

    /// Leaves out entries with longer names than a client could ask for.
    fn shorten<T>(
        &mut self,
        what: &str,
        all: &mut Vec<T>,
        bounds: &Bounds,
        name: impl Fn(&T) -> &str,
    ) {
        let (total, most) = (all.len(), bounds.gateway.uri_bytes);
        all.retain(|one| name(one).len() <= most);
        let left_out = total - all.len();
        if left_out > 0 {
            let why =
                format!("{left_out} {what} with more than {most} bytes in their URI left out");
            self.omissions.push(why);
        }
    }
}

/// A list that a server declares but does not know is empty.
fn unknown_is_empty(pages: Result<Pages, SourceError>) -> Result<Pages, SourceError> {
    match pages {
        Err(SourceError::Refused { code: code::METHOD_NOT_FOUND, .. }) => Ok(Pages::default()),
        other => other,
    }
}

/// More templates than can be matched, and longer ones, are listed all the same; only
/// reading by them needs the qualified name.
fn limit_templates(templates: &mut [Template], bounds: &Bounds, omissions: &mut Vec<String>) {
    let most = bounds.template_bytes;
    let long = templates.iter_mut().filter(|template| template.text.as_str().len() > most);
    let long = long.map(|template| template.compiled = None).count();
    if long > 0 {
        omissions.push(format!("{long} templates with more than {most} bytes are not matched"));
    }
    let most = bounds.templates;
    let excess = templates.get_mut(most..).unwrap_or_default();
    if !excess.is_empty() {
        let count = excess.len();
        omissions.push(format!("{count} templates past the first {most} are not matched"));
    }
    for template in excess {
        template.compiled = None;
    }
}

/// The entries of all pages of one list.
#[derive(Default)]
struct Pages {
    entries: Vec<Json>,
    bytes: usize,
    freshness: Freshness,
    omissions: Vec<String>,
    /// A page after the first could not be read.
    broke_off: bool,
    /// There was more than is taken.
    is_cut: bool,
}

struct Pager<'a> {
    conversation: &'a Conversation,
    method: &'static str,
    key: &'static str,
    timeout: Duration,
    deadline: Instant,
    bounds: &'a Bounds,
}

/// The head of one page of a list.
struct PageHead {
    /// The cursor as JSON.
    next: Option<String>,
    freshness: Freshness,
}

impl Pager<'_> {
    /// Follows the cursors to the end, or to a bound. If a later page fails, the earlier ones are
    /// given, and that there is more.
    async fn run(self) -> Result<Pages, SourceError> {
        let mut pages = Pages::default();
        let mut seen = HashSet::new();
        let mut cursor = None;
        let Bounds { list_entries: most_entries, list_pages: most_pages, list_bytes, .. } =
            *self.bounds;
        for number in 0..most_pages {
            let (head, entries, size) = match self.page(cursor.as_deref()).await {
                Ok(page) => page,
                Err(error) if number == 0 => return Err(error),
                Err(error) => {
                    pages.broke_off = true;
                    let why = format!("page {} failed: {error}", number + 1);
                    return Ok(self.ended(pages, &why));
                }
            };
            pages.bytes += size;
            pages.freshness =
                if number == 0 { head.freshness } else { pages.freshness.and(head.freshness) };
            pages.entries.extend(entries);
            let Some(next) = head.next else { return Ok(pages) };
            if !seen.insert(next.clone()) {
                return Ok(self.cut(pages, "the server repeated a cursor"));
            }
            if pages.entries.len() >= most_entries {
                pages.entries.truncate(most_entries);
                return Ok(self.cut(pages, &format!("more than {most_entries} entries")));
            }
            if pages.bytes >= list_bytes {
                return Ok(self.cut(pages, &format!("more than {list_bytes} bytes")));
            }
            if Instant::now() >= self.deadline {
                let why = format!("listing took longer than {:?}", self.bounds.list_time);
                pages.broke_off = true;
                return Ok(self.cut(pages, &why));
            }
            cursor = Some(next);
        }
        Ok(self.cut(pages, &format!("more than {most_pages} pages")))
    }

    fn cut(&self, mut pages: Pages, why: &str) -> Pages {
        pages.is_cut = true;
        self.ended(pages, why)
    }

    fn ended(&self, mut pages: Pages, why: &str) -> Pages {
        pages.omissions.push(format!(
            "{} cut after {} entries: {why}",
            self.method,
            pages.entries.len()
        ));
        pages
    }

    async fn page(
        &self,
        cursor: Option<&str>,
    ) -> Result<(PageHead, Vec<Json>, usize), SourceError> {
        let mut params = Object::new();
        if let Some(cursor) = cursor {
            params.set("cursor", cursor.to_owned());
        }
        let result =
            self.conversation.ask(self.method, params, Ask::default(), self.timeout).await?;
        aside(result.as_bytes().len(), || self.entries_of(&result))
    }

    fn entries_of(&self, result: &Json) -> Result<(PageHead, Vec<Json>, usize), SourceError> {
        // The entries will be kept: do not keep the reader's larger buffer with them.
        let result = result.compact();
        let malformed =
            |what: &str| SourceError::Malformed { what: format!("{}: {what}", self.method) };
        let object = result.object().ok_or_else(|| malformed("not an object"))?;
        if !self.conversation.kin.learn(&self.conversation.source, &object) {
            // Next time its greeting says so.
            self.conversation.link.closed().cancel();
            return Err(SourceError::Unavailable(Outage::misconfigured(CIRCLE)));
        }
        let array = object.get(self.key).ok_or_else(|| malformed("the list itself is missing"))?;
        let entries = items(array).ok_or_else(|| malformed("the list is no array"))?;
        let entries = entries.into_iter().map(|entry| result.part(entry)).collect();
        // As it was written: some servers count their pages.
        let next = object.get("nextCursor").filter(|cursor| *cursor != "null").map(str::to_owned);
        let head = PageHead { next, freshness: freshness(&object).unwrap_or_default() };
        Ok((head, entries, result.as_bytes().len()))
    }
}

/// How long a result may be believed, by its own words. An odd number is rounded down, e.g.
/// `1500.7` to 1,500 ms. A negative one counts as 0, and an unknown scope as private.
pub(crate) fn freshness(result: &Object<'_>) -> Option<Freshness> {
    let ttl = result.get("ttlMs").and_then(|text| text.parse::<f64>().ok());
    let scope = result.get_str("cacheScope");
    if ttl.is_none() && scope.is_none() {
        return None;
    }
    let ttl_ms = ttl.filter(|ttl| *ttl > 0.0).map_or(0, |ttl| ttl as u64);
    let scope = if scope.as_deref() == Some("public") { Scope::Public } else { Scope::Private };
    Some(Freshness { ttl_ms, scope })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t28_odd_freshness_is_read_on_the_safe_side() {
        let read =
            |text: &str| freshness(&Object::parse(text).unwrap()).map(|f| (f.ttl_ms, f.scope));
        assert_eq!(read(r#"{"ttlMs":1000,"cacheScope":"public"}"#), Some((1000, Scope::Public)));
        assert_eq!(read(r#"{"ttlMs":1.9}"#), Some((1, Scope::Private)));
        assert_eq!(read(r#"{"ttlMs":-5,"cacheScope":""}"#), Some((0, Scope::Private)));
        assert_eq!(read(r#"{"ttlMs":1e300}"#), Some((u64::MAX, Scope::Private)));
        assert_eq!(read(r#"{"ttlMs":"x"}"#), None);
        assert_eq!(read("{}"), None);
    }
}
