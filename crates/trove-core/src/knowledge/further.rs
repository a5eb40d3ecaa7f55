//! Says where an answer was cut, and the URI with which the asker goes on.

use std::sync::Arc;

use super::{
    Document, address,
    content::{Content, MAX_ANSWER_BYTES},
};

/// The limit of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    Documents(usize),
    Bytes,
}

/// The note in an answer that was cut before `next`; `all` is what was asked for.
pub(super) fn note(
    content: &Content,
    bound: Bound,
    all: &[Arc<Document>],
    next: &Document,
) -> String {
    let most = match bound {
        Bound::Documents(most) => format!("{most} documents (`guide.max_documents`)"),
        Bound::Bytes => format!("{} MiB", MAX_ANSWER_BYTES >> 20),
    };
    format!(
        "cut after {} documents, {} more follow, since an answer holds {most}; \
         go on with {}, then narrow the pattern likewise for what is left",
        content.pieces.len(),
        content.cut,
        narrower(bound, all, next),
    )
}

/// The widest URI that gives `next` and others in one answer; its own if there is none.
fn narrower(bound: Bound, all: &[Arc<Document>], next: &Document) -> String {
    let same = all.iter().filter(|document| document.category == next.category);
    let same: Vec<&Arc<Document>> = same.collect();
    let found = wider_and_narrower(&next.path).find_map(|(start, end)| {
        let is_among = |path: &str| {
            let rest = path.strip_prefix(start);
            rest.is_some_and(|rest| end == "**" || !rest.contains('/'))
        };
        let (mut documents, mut bytes) = (0, 0);
        for document in same.iter().filter(|document| is_among(&document.path)) {
            documents += 1;
            bytes += document.size();
        }
        let fits = match bound {
            Bound::Documents(most) => documents <= most,
            Bound::Bytes => bytes <= MAX_ANSWER_BYTES,
        };
        (documents > 1 && fits).then_some((start, end))
    });
    match found {
        Some((start, end)) => {
            let category = address::category(&next.category);
            format!("{category}/{}{end}", address::encode(start, true))
        }
        None => next.uri().to_owned(),
    }
}

/// Patterns that match a path, each as its start and its end, e.g. `a/` and `**`. The folders come
/// from the outermost on, then more and more of the name.
fn wider_and_narrower(path: &str) -> impl Iterator<Item = (&str, &'static str)> {
    // A character with a meaning in patterns cannot stand for itself in one.
    let plain = path.find(['*', '?', '[', ']', '{', '}', '!', ',']).unwrap_or(path.len());
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    let slashes = path.match_indices('/').map(|(at, _)| at + 1);
    let folders = std::iter::once(0).chain(slashes).map(|at| (at, "**"));
    let names = path.char_indices().map(|(at, _)| at).filter(move |at| *at >= name);
    let all = folders.chain(names.map(|at| (at, "*")));
    all.take_while(move |(at, _)| *at <= plain).map(|(at, end)| (&path[..at], end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_go_from_wide_to_narrow_and_stop_at_signs() {
        let check = |path: &str, expected: &[&str]| {
            let all: Vec<String> =
                wider_and_narrower(path).map(|(start, end)| format!("{start}{end}")).collect();
            assert_eq!(all, expected, "{path}");
        };
        check("a/bé", &["**", "a/**", "a/*", "a/b*"]);
        check("x[1]", &["**", "*", "x*"]);
        check("[x]/y", &["**"]);
    }
}
