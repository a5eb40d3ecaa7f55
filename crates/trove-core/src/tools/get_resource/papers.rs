//! Text in the place of papers, such as PDF, unless their bytes are asked for.

use super::{Call, Failure, Format, GetResource, Outcome, answer};
use crate::{
    gateway::{NoPart, Reading, Wanted},
    uri::PublicUri,
};

impl GetResource {
    /// The answer to a read that succeeded.
    pub(super) async fn give(
        &self,
        call: &Call<'_>,
        uri: &PublicUri,
        mut reading: Reading,
    ) -> Result<Outcome, Failure> {
        let mut notes = Vec::new();
        let mut has_parts = false;
        if let Some(wanted) = self.wanted() {
            let texts = call.gateway.with_texts(&reading.reply.body, &wanted).await;
            if let Some(texts) = texts.map_err(|none| self.no_part(&none))? {
                has_parts = texts.count > 0;
                notes = texts.notes;
                reading.reply.body = texts.body;
            }
        }
        if self.page.is_some() && !has_parts {
            return Err(no_pages(&notes));
        }
        if self.grep.is_some() {
            return call.tools.turns.take(|| answer::give(call, self, uri, &reading, &notes)).await;
        }
        answer::give(call, self, uri, &reading, &notes)
    }

    /// Which papers become text in this form.
    fn wanted(&self) -> Option<Wanted> {
        let all = Wanted { part: self.page, ..Wanted::for_caller() };
        match self.format {
            Format::Auto => Some(Wanted { pictures: self.grep.is_some(), ..all }),
            // A page is asked for of the text that was made, not of the source.
            Format::Text => Some(Wanted { written: self.page.is_some(), pictures: true, ..all }),
            Format::Json | Format::Binary => None,
        }
    }

    fn no_part(&self, none: &NoPart) -> Failure {
        let (place, page) = (none.place, self.page.unwrap_or_default());
        let message = if page > none.total {
            format!("the document has {} {place}s, so there is no {place} {page}", none.total)
        } else {
            format!("{place} {page} is left out: the document holds too much text")
        };
        let failure = Failure::arguments(message).with("field", "page");
        failure.suggest(format!("Give a `page` from 1 to {}.", none.readable.max(1)))
    }
}

/// Says that there are no pages to choose from.
fn no_pages(notes: &[String]) -> Failure {
    let message = match notes.first() {
        Some(note) => format!("there is no page to give: {note}"),
        None => "`page` is for documents such as PDF, and this is none".to_owned(),
    };
    let failure = Failure::arguments(message).with("field", "page");
    failure.suggest("Leave `page` out; `offset` goes on in a long text.")
}
