//! Measures functions: how many tokens they hold, and what they are packed with.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// Methods that hide a decision or a loop.
const COMBINATORS: [&str; 25] = [
    "all",
    "and_then",
    "any",
    "filter",
    "filter_map",
    "find_map",
    "flat_map",
    "flatten",
    "fold",
    "is_err_and",
    "is_none_or",
    "is_ok_and",
    "is_some_and",
    "map",
    "map_err",
    "map_or",
    "map_or_else",
    "ok_or",
    "ok_or_else",
    "or_else",
    "then",
    "then_some",
    "transpose",
    "unwrap_or",
    "unwrap_or_else",
];

#[derive(Default)]
pub(super) struct Density {
    tokens: Vec<usize>,
    lengths: Vec<usize>,
    pub(super) combinators: usize,
    pub(super) closures: usize,
    pub(super) bool_matches: usize,
    pub(super) tuple_parameters: usize,
    pub(super) types: Vec<String>,
}

impl Density {
    pub(super) fn add(&mut self, file: &syn::File) {
        self.visit_file(file);
    }

    pub(super) fn tokens_at(&self, percent: usize) -> usize {
        let mut sorted = self.tokens.clone();
        sorted.sort_unstable();
        let at = sorted.len() * percent / 100;
        sorted.get(at).copied().unwrap_or_default()
    }

    pub(super) fn long_functions(&self) -> usize {
        self.lengths.iter().filter(|&&lines| lines > 60).count()
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let all = count(signature.to_token_stream()) + count(block.to_token_stream());
        self.tokens.push(all);
        let span = block.span();
        self.lengths.push(span.end().line.saturating_sub(signature.span().start().line) + 1);
        for input in &signature.inputs {
            let syn::FnArg::Typed(typed) = input else { continue };
            if matches!(*typed.ty, syn::Type::Tuple(ref tuple) if !tuple.elems.is_empty())
                || matches!(*typed.pat, syn::Pat::Tuple(_))
            {
                self.tuple_parameters += 1;
            }
        }
    }
}

impl<'ast> Visit<'ast> for Density {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_for_tests(&item.attrs) {
            return;
        }
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_for_tests(&item.attrs) {
            return;
        }
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.types.push(item.ident.to_string());
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.types.push(item.ident.to_string());
        visit::visit_item_enum(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if COMBINATORS.iter().any(|name| call.method == name) {
            self.combinators += 1;
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let Some(value) = &local.init
            && matches!(*value.expr, syn::Expr::Closure(_))
        {
            self.closures += 1;
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        if matched.arms.iter().any(|arm| is_bool(&arm.pat)) {
            self.bool_matches += 1;
        }
        visit::visit_expr_match(self, matched);
    }
}

fn is_bool(pattern: &syn::Pat) -> bool {
    matches!(pattern, syn::Pat::Lit(syn::ExprLit { lit: syn::Lit::Bool(_), .. }))
}

pub(super) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        text.contains("cfg (test)") || text == "# [test]"
    })
}

/// The tokens of a stream; a pair of brackets counts as two.
fn count(stream: TokenStream) -> usize {
    let mut tokens = 0;
    for token in stream {
        tokens += match token {
            TokenTree::Group(group) => 2 + count(group.stream()),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => 1,
        };
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_function_is_seen_for_what_it_is() {
        let file = syn::parse_file(
            "fn a((b, c): (u8, u8)) { let d = |e: u8| e; match b == c { true => d(b), false => c }; }\n\
             struct F;\n#[cfg(test)]\nmod tests { fn g() { Some(1).map(|h| h); } }",
        )
        .expect("it is Rust");
        let mut density = Density::default();
        density.add(&file);
        assert_eq!(density.tokens.len(), 1);
        assert_eq!((density.closures, density.bool_matches, density.tuple_parameters), (1, 1, 1));
        assert_eq!((density.combinators, density.types.len()), (0, 1));
    }
}
