//! `trove search`: resources that hold all of some terms.

use clap::ValueEnum as _;
use serde_json::json;

use super::{
    Failed,
    find::{filters, found_by},
};
use crate::cli::{Global, Search};

pub(super) fn search(global: &Global, command: &Search) -> Result<(), Failed> {
    let mut arguments = filters(&command.hits);
    let scope = command.scope.to_possible_value();
    arguments.insert("searchTerms".into(), json!(command.terms));
    arguments.insert("searchScope".into(), json!(scope.as_ref().map(|word| word.get_name())));
    arguments.insert("fuzzyMatch".into(), json!(command.fuzzy));
    for (key, date) in [("after", &command.after), ("before", &command.before)] {
        if let Some(date) = date {
            arguments.insert(key.into(), json!(date));
        }
    }
    found_by(global, "search_resources", arguments, &command.hits)
}
