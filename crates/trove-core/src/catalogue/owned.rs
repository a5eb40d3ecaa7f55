//! The entries of one Source, by the names it uses itself.

use super::{
    naming,
    route::{MAX_ATTEMPTS, MAX_MATCHED_BYTES},
    snapshot::{ResourceEntry, Snapshot, TemplateEntry},
};
use crate::{source::SourceId, template::Bindings};

impl Snapshot {
    /// The entry that the Source `id` lists as `local`.
    pub fn listed(&self, id: &SourceId, local: &str) -> Option<&ResourceEntry> {
        let is_it = |entry: &&ResourceEntry| {
            entry.local.as_str() == local && self.owner(entry.member).id() == id
        };
        self.resource(local)
            .filter(is_it)
            .or_else(|| self.resource(naming::qualify(id, local).as_str()).filter(is_it))
    }

    /// Whether the Source `id` lists a resource or a template as `local`.
    pub fn lists(&self, id: &SourceId, local: &str) -> bool {
        let is_template = |entry: &TemplateEntry| {
            entry.template.text.as_str() == local && self.owner(entry.member).id() == id
        };
        self.listed(id, local).is_some() || self.templates.iter().any(is_template)
    }

    /// The template of the Source `id` that `local` fits, with its values.
    pub fn template_of(&self, id: &SourceId, local: &str) -> Option<(&TemplateEntry, Bindings)> {
        if local.len() > MAX_MATCHED_BYTES {
            return None;
        }
        let member = *self.by_id.get(id)?;
        let own = self.templates.iter().filter(|entry| entry.member == member);
        let near = own.filter_map(|entry| {
            let compiled = entry.template.compiled.as_ref()?;
            local.starts_with(compiled.literal_prefix()).then_some((entry, compiled))
        });
        let fits = near.take(MAX_ATTEMPTS).filter_map(|(entry, compiled)| {
            compiled.matches(local).map(|values| (compiled.specificity(), entry, values))
        });
        fits.max_by_key(|(specificity, ..)| *specificity).map(|(_, entry, values)| (entry, values))
    }
}
