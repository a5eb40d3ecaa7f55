//! Gives our tokens to the index library.

use tantivy::tokenizer::{Token as IndexToken, TokenStream, Tokenizer};

use super::tokens::Tokens;

/// The name under which the schema knows our tokens.
pub(super) const WORDS: &str = "trove_words";

/// Cuts text into tokens for the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Analyser;

/// The tokens of one text on their way into the index.
pub(super) struct Stream<'t> {
    tokens: Tokens<'t>,
    /// The next token of the word at hand.
    next: usize,
    token: IndexToken,
}

impl Tokenizer for Analyser {
    type TokenStream<'t> = Stream<'t>;

    fn token_stream<'t>(&'t mut self, text: &'t str) -> Stream<'t> {
        Stream { tokens: Tokens::of(text), next: 0, token: IndexToken::default() }
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        loop {
            if let Some(token) = self.tokens.of_word_mut().get_mut(self.next) {
                self.next += 1;
                self.token.offset_from = token.span.start;
                self.token.offset_to = token.span.end;
                self.token.position = token.position;
                std::mem::swap(&mut self.token.text, &mut token.text);
                return true;
            }
            self.next = 0;
            if !self.tokens.read_word() {
                return false;
            }
        }
    }

    fn token(&self) -> &IndexToken {
        &self.token
    }

    fn token_mut(&mut self) -> &mut IndexToken {
        &mut self.token
    }
}
