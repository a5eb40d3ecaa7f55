//! Completions, without the names of hidden entries.

use std::{cell::OnceCell, collections::HashSet, sync::Arc};

use super::{AskError, Gateway, Named, View, fetch::perform};
use crate::{
    access::Standing,
    caller::Caller,
    catalogue::Snapshot,
    json::{Json, Object, items, string},
    source::{Ask, Operation, Reply, SourceId},
    template::{Bindings, UriTemplate},
};

/// Stands for a variable that has no value yet.
const ANYTHING: &str = "--anything--";

/// A completion as its owner was asked for it.
struct Completed<'a> {
    snapshot: &'a Arc<Snapshot>,
    id: &'a SourceId,
    arguments: &'a Json,
}

impl Gateway {
    /// Asks the owner of a template or prompt for values of an argument.
    pub(super) async fn fetch_values(
        &self,
        caller: &Caller,
        arguments: &Json,
        mut ask: Ask,
    ) -> Result<Reply, AskError> {
        let find = |snapshot: &Snapshot| self.localise_reference(caller, snapshot, arguments);
        let (snapshot, found) = self.once_known(None, None, find).await;
        let (source, arguments) = found?;
        ask.caller = caller.clone();
        ask.visible = self.visible(caller, source.id());
        let operation = Operation::Complete { arguments: arguments.clone() };
        let reply = perform(&source, None, operation, ask).await?;
        let asked = Completed { snapshot: &snapshot, id: source.id(), arguments: &arguments };
        Ok(self.without_hidden_values(caller, &asked, reply))
    }

    /// The values of a completion that do not lead to what is hidden from the caller. The
    /// arguments are those the owner was asked with.
    fn without_hidden_values(&self, caller: &Caller, asked: &Completed<'_>, reply: Reply) -> Reply {
        let rules = self.rules();
        if !rules.access().standings(caller).contains(&Standing::Hidden) {
            return reply;
        }
        let Completed { snapshot, id, arguments } = *asked;
        let Some(filled) = Filled::of(arguments) else { return reply };
        let standings = rules.access().standings(caller);
        let view = self.view_of(snapshot.clone(), caller);
        let listed = OnceCell::new();
        let is_shown = |value: &str| {
            let Some(uri) = filled.uri(value) else { return true };
            if rules.standing(caller, Named::given(snapshot, id, &uri)).0 == Standing::Hidden {
                return false;
            }
            // As long as the URI is not whole, a rule may hide what the value leads to.
            let Some(end) = uri.find(ANYTHING) else { return true };
            let mut near = rules.access().policy.beginning(id.as_str(), &uri[..end]);
            if !near.any(|n| standings[n] == Standing::Hidden) {
                return true;
            }
            listed.get_or_init(|| filled.listed(&view, id)).contains(value)
        };
        let body = with_shown(&reply.body, is_shown);
        Reply { body: body.unwrap_or_else(|| reply.body.clone()), ..reply }
    }
}

/// A template with all its values but the one that is completed.
struct Filled {
    template: UriTemplate,
    values: Bindings,
    name: String,
}

impl Filled {
    /// `None`: no template is completed, or none that is one.
    fn of(arguments: &Json) -> Option<Filled> {
        let template = UriTemplate::parse(&arguments.get("ref")?.get_str("uri")?).ok()?;
        let name = arguments.get("argument")?.get_str("name")?;
        let known = arguments.get("context").and_then(|context| context.get("arguments"));
        let value = |name: &str| known.as_ref().and_then(|known| known.get_str(name));
        let values = template
            .variables()
            .map(|name| (name.to_owned(), value(name).unwrap_or_else(|| ANYTHING.to_owned())))
            .collect();
        Some(Filled { template, values, name })
    }

    /// The values that resources have which the caller is shown.
    fn listed(&self, view: &View, id: &SourceId) -> HashSet<String> {
        let mut listed = HashSet::new();
        for (entry, _) in view.resources() {
            if view.snapshot().owner(entry.member).id() != id {
                continue;
            }
            let fits = self.template.matches(entry.local.as_str());
            let value = fits.as_ref().and_then(|values| values.get(&self.name));
            listed.extend(value.map(ToString::to_string));
        }
        listed
    }

    /// Where this value leads.
    fn uri(&self, value: &str) -> Option<String> {
        let mut values = self.values.clone();
        values.bind(self.name.as_str(), value);
        self.template.expand(&values).ok()
    }
}

/// The answer with only these of its values, alike whether it had others or not: neither how many
/// there were nor how they were written may tell.
fn with_shown(body: &Json, is_shown: impl Fn(&str) -> bool) -> Option<Json> {
    let mut answer = body.object()?;
    let mut completion = Object::parse(answer.get("completion")?)?;
    let mut values = items(completion.get("values")?)?;
    values.retain(|value| string(value).is_none_or(|value| is_shown(&value)));
    let values = format!("[{}]", values.join(","));
    completion.set("values", values);
    completion.remove("total");
    let completion = completion.to_text();
    answer.set("completion", completion);
    Some(answer.to_json())
}
