//! The gateway's facts about itself, read off the parts it joins.

use std::{borrow::Cow, sync::Arc};

use super::{Gateway, Named};
use crate::{
    about::{
        CacheHealth, CacheSettings, CallerStatus, Capabilities, Collision, Facts, Health,
        IndexHealth, Item, MAX_SHOWN, OwnStanding, RuleShown, STANDING, SecuritySettings,
        ServerSettings, StoreHealth, ToolBook, document_of,
    },
    access::{Rule, Standing},
    caller::Caller,
    catalogue::collisions::{Claim, Contested},
    json::Json,
    resource::Details,
    source::SourceId,
    source_id::is_ours,
};

impl Gateway {
    /// The state of everything, as far as `caller` may know of it; from memory.
    pub fn health(&self, caller: &Caller) -> Health {
        let view = self.current_view(caller);
        let mut health = Health::of(self.version, self.started, &self.board);
        (health.resources, health.templates) = (view.resource_count(), view.template_count());
        health.count(|id| view.counts_of(id));
        if self.access().withholds_causes_from(caller) {
            health.withhold_causes();
        }
        health.index = self.index_health(caller);
        health.stores = self.stores();
        if !health.stores.iter().all(StoreHealth::is_well) {
            health.status = "degraded";
        }
        // Faults of the guide are told by name, so only to callers who see all of it.
        if self.access().standings(caller).iter().any(|standing| *standing != Standing::Open) {
            let guide = SourceId::guide();
            let own = health.sources.iter_mut().filter(|source| source.id == guide.as_str());
            own.for_each(|source| source.omissions.clear());
        }
        // Counts over all entries would tell of hidden ones.
        health.cache = self.access().policy.is_empty().then(|| self.cache_health());
        health
    }

    fn cache_health(&self) -> CacheHealth {
        let stats = self.cache_stats();
        let asked = stats.hits + stats.misses;
        CacheHealth {
            hits: stats.hits,
            misses: stats.misses,
            hit_rate: (asked > 0).then(|| stats.hits as f64 / asked as f64),
            entries: stats.entries,
            bytes: stats.bytes,
        }
    }

    fn index_health(&self, caller: &Caller) -> IndexHealth {
        let (Some(search), Some(coverage)) = (self.search(), self.coverage(caller)) else {
            return IndexHealth::default();
        };
        let status = search.status();
        // Counts over all entries would tell of hidden ones.
        let is_open = self.access().policy.is_empty();
        // An entry that was not even listed to the index is not counted in it.
        let is_fed = self.progress.is_fed_with(&self.current());
        let is_written = status.staged == 0 && status.queued_kib == 0;
        let waits_for: Vec<String> = self.starting().iter().map(SourceId::to_string).collect();
        let is_whole = coverage.indexed >= coverage.indexable;
        let is_ready = is_fed && is_written && is_whole && waits_for.is_empty();
        let is_full = status.bytes > self.limits.index_bytes;
        let state = if is_full {
            "full"
        } else if is_ready {
            "ready"
        } else {
            "indexing"
        };
        IndexHealth {
            state,
            waits_for,
            entries: is_open.then_some(status.entries),
            indexed: coverage.indexed,
            indexable: coverage.indexable,
            vectors: is_open.then_some(status.vectors),
            vectors_missing: is_open.then(|| search.awaiting_meaning()),
            bytes: is_open.then_some(status.bytes),
        }
    }
}

impl Facts for Gateway {
    fn health(&self, caller: &Caller) -> Health {
        Gateway::health(self, caller)
    }

    fn capabilities(&self, caller: &Caller) -> Capabilities {
        let view = self.current_view(caller);
        let named = |name: &str, entry: &Json| Item {
            name: Some(name.to_owned()),
            description: entry.get_str("description"),
            ..Item::default()
        };
        let addressed = |uri: &str, details: Details<'_>| Item {
            uri: Some(uri.to_owned()),
            name: details.name().map(Cow::into_owned),
            description: details.description().map(Cow::into_owned),
            ..Item::default()
        };
        let snapshot = view.snapshot();
        let own = self.tool_book().map(|book| book.summaries(caller)).unwrap_or_default();
        let theirs = snapshot.tools().iter().map(|t| named(&t.public, &t.entry));
        let own_prompts = self.tool_book().map(|book| book.prompts()).unwrap_or_default();
        let their_prompts = snapshot.prompts().iter().map(|p| named(&p.public, &p.entry));
        let resources = view.resources().map(|(r, _)| r).take(MAX_SHOWN);
        let templates = view.templates().map(|(t, _)| t).take(MAX_SHOWN);
        Capabilities {
            tools: own.into_iter().chain(theirs).collect(),
            prompts: own_prompts.into_iter().chain(their_prompts).collect(),
            resources: resources
                .map(|r| addressed(r.public.as_str(), snapshot.details(r)))
                .collect(),
            templates: templates
                .map(|t| addressed(t.public.as_str(), t.template.details()))
                .collect(),
            resources_total: view.resource_count(),
            templates_total: view.template_count(),
        }
    }

    fn collisions(&self, caller: &Caller) -> Vec<Collision> {
        let rules = self.rules();
        let mut known = Vec::new();
        for contest in self.current().contests() {
            // Rules are about resources and templates; names of tools are known to all callers.
            let has_rules = matches!(contest.kind, Contested::Resource | Contested::Template);
            let is_known = |claim: &Claim| {
                let standing = rules.standing(caller, Named::listed(&claim.source, &claim.local)).0;
                !has_rules || (standing != Standing::Hidden && self.has_claimed(claim))
            };
            let claims = contest.claims.into_iter().filter(is_known);
            let reached_as: Vec<String> = claims.map(|claim| claim.public).collect();
            // A name that only one known Source uses collides with nothing.
            if reached_as.len() > 1 {
                known.push(Collision {
                    uri: contest.name,
                    kind: contest.kind.as_str(),
                    reached_as,
                });
            }
        }
        known
    }

    fn standing(&self, caller: &Caller) -> CallerStatus {
        let access = self.access();
        let is_local = caller.door.is_local();
        // No caller comes in over HTTP without proof where one is asked for.
        let needs_proof = self.settings.load().1.auth_required;
        let rules = access.policy.rules().iter();
        let closed = rules.filter(|rule| rule.standing(access.roles(caller)) == Standing::Shown);
        CallerStatus {
            door: caller.door.as_str(),
            authenticated: is_local || caller.principal.is_some() || needs_proof,
            principal: caller.principal.as_deref().map(ToOwned::to_owned),
            roles: access.roles(caller).to_vec(),
            roles_from: match (is_local, &caller.principal) {
                (true, _) => "auth.local_roles of the configuration",
                (false, Some(_)) => "the claims of your token",
                (false, None) if needs_proof => "nothing: Trove's own token names nobody",
                (false, None) => "nothing: this door gives no roles",
            },
            out_of_reach: closed.map(shown).collect(),
            servers: self.standings_elsewhere(caller),
        }
    }

    fn server(&self) -> ServerSettings {
        let cache = CacheSettings {
            default_ttl_ms: u64::try_from(self.cache_ttl().as_millis()).unwrap_or(u64::MAX),
            max_bytes: self.limits.cache_bytes,
            max_entry_bytes: self.limits.cached_answer_bytes,
        };
        let mut settings = self.settings.load().0.clone();
        settings.search.enabled = self.is_searchable();
        if let Some(book) = self.tool_book() {
            settings.toolsets.retain(|toolset| book.offers(toolset));
        }
        ServerSettings { version: self.version, cache, ..settings }
    }

    fn security(&self, caller: &Caller) -> SecuritySettings {
        let access = self.access();
        let roles = access.roles(caller);
        let rules = access.policy.rules().iter();
        let known = rules.filter(|rule| rule.standing(roles) != Standing::Hidden);
        let policy_rules = known.map(shown).collect();
        SecuritySettings { policy_rules, ..self.settings.load().1.clone() }
    }

    fn tools(&self) -> Option<Arc<dyn ToolBook>> {
        self.tool_book()
    }
}

impl Gateway {
    /// Whether there is what is claimed: templates of ours fit more than we have.
    fn has_claimed(&self, claim: &Claim) -> bool {
        let Claim { source, local, .. } = claim;
        let snapshot = self.current();
        let is_template = local.contains('{');
        if !is_ours(source.as_str()) || is_template || snapshot.listed(source, local).is_some() {
            return true;
        }
        if *source == SourceId::guide() {
            // A document is also read without its extension.
            let stem = format!("{local}.");
            let listing = snapshot.member(source).map(|member| &member.listing.resources);
            let mut listed = listing.into_iter().flatten();
            return listed.any(|resource| resource.uri.as_str().starts_with(&stem));
        }
        self.tool_book().is_some_and(|book| document_of(&*book, local).is_some())
    }

    /// The servers that have an `auth://status` of their own.
    fn standings_elsewhere(&self, caller: &Caller) -> Vec<OwnStanding> {
        let view = self.current_view(caller);
        let members = view.snapshot().members().iter().map(|member| &member.source);
        let mut all = Vec::new();
        for source in members.filter(|source| !source.is_builtin()) {
            let Some(entry) = view.owned(source.id(), STANDING) else { continue };
            all.push(OwnStanding {
                server: source.id().to_string(),
                uri: entry.public.to_string(),
            });
            if all.len() == MAX_SHOWN {
                break;
            }
        }
        all
    }
}

fn shown(rule: &Rule) -> RuleShown {
    RuleShown { pattern: rule.pattern().to_owned(), roles: rule.roles.clone() }
}
