//! The fields of the index.

use tantivy::{
    Term,
    schema::{
        FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, SchemaBuilder,
        TextFieldIndexing, TextOptions,
    },
};

use super::analyser;

/// Counts up whenever the fields or the tokens change; an index of another version is
/// built anew.
pub(super) const VERSION: u32 = 2;

/// Names of the fields that are read back at start.
pub(super) mod fast {
    pub(in crate::search) const ID: &str = "id";
    pub(in crate::search) const OWNER: &str = "owner";
    pub(in crate::search) const PART: &str = "part";
    pub(in crate::search) const SOURCE: &str = "source";
    pub(in crate::search) const LOCAL: &str = "local";
    pub(in crate::search) const PUBLIC: &str = "public";
    pub(in crate::search) const MIME: &str = "mime";
    pub(in crate::search) const MODIFIED: &str = "modified";
    pub(in crate::search) const SIZE: &str = "size";
    pub(in crate::search) const PRIORITY: &str = "priority";
    pub(in crate::search) const LISTED_HASH: &str = "listed_hash";
    pub(in crate::search) const SHOWN_HASH: &str = "shown_hash";
    pub(in crate::search) const CONTENT_HASH: &str = "content_hash";
    pub(in crate::search) const CONTENT_AT: &str = "content_at";
    pub(in crate::search) const STATE: &str = "state";
}

#[derive(Debug, Clone)]
pub(super) struct Fields {
    pub(super) schema: Schema,
    // Searched.
    pub(super) name: Field,
    pub(super) uri: Field,
    pub(super) description: Field,
    pub(super) headings: Field,
    pub(super) body: Field,
    pub(super) symbol: Field,
    pub(super) exact: Field,
    // Identity.
    pub(super) id: Field,
    pub(super) owner: Field,
    pub(super) part: Field,
    pub(super) source: Field,
    pub(super) local: Field,
    pub(super) public: Field,
    pub(super) mime: Field,
    pub(super) modified: Field,
    pub(super) size: Field,
    pub(super) priority: Field,
    pub(super) listed_hash: Field,
    pub(super) shown_hash: Field,
    pub(super) content_hash: Field,
    pub(super) content_at: Field,
    pub(super) state: Field,
    // Kept to be shown.
    pub(super) shown_name: Field,
    pub(super) shown_title: Field,
    pub(super) shown_description: Field,
    /// Where the window begins in the text, and whether the text is the resource's own.
    pub(super) base: Field,
    pub(super) is_verbatim: Field,
}

impl Fields {
    pub(super) fn new() -> Fields {
        let mut builder = Schema::builder();
        let fast_text = TextOptions::default().set_fast("raw");
        let words = words(IndexRecordOption::WithFreqsAndPositions);
        let text = |builder: &mut SchemaBuilder, name, options: &TextOptions| {
            builder.add_text_field(name, options.clone())
        };
        let stored = TextOptions::default().set_stored();
        Fields {
            name: text(&mut builder, "name_words", &words),
            uri: text(&mut builder, "uri_words", &words),
            description: text(&mut builder, "description_words", &words),
            headings: text(&mut builder, "headings", &words.clone().set_stored()),
            body: text(&mut builder, "body", &words.clone().set_stored()),
            symbol: builder.add_text_field("symbol", STRING | STORED),
            exact: builder.add_text_field("exact", STRING),
            id: builder.add_u64_field(fast::ID, INDEXED | FAST),
            owner: builder.add_u64_field(fast::OWNER, FAST | STORED),
            part: builder.add_u64_field(fast::PART, FAST | STORED),
            source: text(&mut builder, fast::SOURCE, &fast_text),
            local: text(&mut builder, fast::LOCAL, &fast_text),
            public: text(&mut builder, fast::PUBLIC, &fast_text),
            mime: text(&mut builder, fast::MIME, &fast_text),
            modified: builder.add_i64_field(fast::MODIFIED, FAST),
            size: builder.add_u64_field(fast::SIZE, FAST),
            priority: builder.add_f64_field(fast::PRIORITY, FAST),
            listed_hash: builder.add_u64_field(fast::LISTED_HASH, FAST),
            shown_hash: builder.add_u64_field(fast::SHOWN_HASH, FAST),
            content_hash: builder.add_u64_field(fast::CONTENT_HASH, FAST | STORED),
            content_at: builder.add_i64_field(fast::CONTENT_AT, FAST),
            state: builder.add_u64_field(fast::STATE, FAST),
            shown_name: text(&mut builder, "name", &stored),
            shown_title: text(&mut builder, "title", &stored),
            shown_description: text(&mut builder, "description", &stored),
            base: builder.add_u64_field("base", STORED),
            is_verbatim: builder.add_bool_field("verbatim", STORED),
            schema: builder.build(),
        }
    }

    /// The term all documents of a resource share.
    pub(super) fn id_term(&self, id: u64) -> Term {
        Term::from_field_u64(self.id, id)
    }
}

fn words(record: IndexRecordOption) -> TextOptions {
    let indexing =
        TextFieldIndexing::default().set_tokenizer(analyser::WORDS).set_index_option(record);
    TextOptions::default().set_indexing_options(indexing)
}
