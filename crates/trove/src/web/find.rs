//! Searching as somebody types.
//!
//! Names, URIs and descriptions that hold every word, or the beginning of one, best first.
//! [`find`] is all that knows how. What contents hold and mean is asked of the index, in
//! `search`, once the typing pauses.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc, time::Instant};

use axum::{
    extract::{Request, State},
    response::Response,
};
use serde_json::{Value, json};

use super::{Web, answer::json_of, query::Query, rows::Rows};

/// The most hits of one answer.
const MAX_HITS: usize = 200;
/// The longest question, in bytes, and the most words of it.
const MAX_QUESTION: usize = 256;
const MAX_WORDS: usize = 12;

/// The worth of a word by its place: name, URI, description.
const WORTH: [u32; 3] = [40, 16, 10];
const PLACES: [&str; 3] = ["name", "uri", "description"];

/// One row that was found.
struct Hit {
    row: u32,
    score: u32,
    /// Which of [`PLACES`] hold a word.
    places: [bool; 3],
}

/// `GET /api/find?q=…`.
pub(super) async fn answer(State(web): State<Arc<Web>>, request: Request) -> Response {
    let query = Query::of(request.uri());
    let rows = web.rows.rows(&web.gateway, &web.caller()).await;
    let began = Instant::now();
    let servers: Vec<&str> = query.all("server").collect();
    let (hits, by_server) = find(&rows, query.get("q").unwrap_or_default(), &servers);
    let limit = query.number("limit", 50).min(MAX_HITS);
    let total = hits.len();
    let shown: Vec<Value> = hits.iter().take(limit).map(|hit| shown(&rows, hit)).collect();
    json_of(&json!({
        "total": total,
        "hits": shown,
        "servers": by_server.iter().collect::<Vec<_>>(),
        "searched": ["names", "URIs", "descriptions"],
        "took_ms": began.elapsed().as_secs_f64() * 1000.0,
    }))
}

fn shown(rows: &Rows, hit: &Hit) -> Value {
    let mut shown = rows.shown(&rows.all[hit.row as usize]);
    let places = PLACES.iter().zip(hit.places);
    shown["score"] = json!(hit.score);
    shown["why"] = places.filter(|(_, holds)| *holds).map(|(place, _)| *place).collect();
    shown
}

/// The rows of these servers (of all if none is named) that hold every word, best first,
/// and how many there are of each server.
fn find<'a>(
    rows: &'a Rows,
    question: &str,
    servers: &[&str],
) -> (Vec<Hit>, BTreeMap<&'a str, usize>) {
    let question = question[..question.floor_char_boundary(MAX_QUESTION)].to_lowercase();
    let words: Vec<&str> = question.split_whitespace().take(MAX_WORDS).collect();
    let mut hits = Vec::new();
    let mut by_server = BTreeMap::new();
    if words.is_empty() {
        return (hits, by_server);
    }
    // The longest word is the rarest.
    let rarest = words.iter().max_by_key(|word| word.len()).copied().unwrap_or_default();
    for (row, n) in rows.holding(rarest) {
        let whole = rows.whole(row);
        if !words.iter().all(|word| whole.contains(word)) {
            continue;
        }
        let places = rows.words(row);
        let Some((score, places)) = rank(&words, places) else { continue };
        let server = rows.server(row);
        *by_server.entry(server).or_default() += 1;
        if servers.is_empty() || servers.contains(&server) {
            hits.push(Hit { row: n, score, places });
        }
    }
    // Equal scores: what is somebody's own comes before what is Trove's, then the shorter name,
    // which is the nearer one, then the order of the catalogue.
    let rank = |hit: &Hit| {
        let row = &rows.all[hit.row as usize];
        let name = rows.words(row)[0];
        (Reverse(hit.score), rows.is_of_trove(row), name.len(), hit.row)
    };
    // One letter is in every name; only what can be shown is put in order.
    if hits.len() > MAX_HITS {
        hits.select_nth_unstable_by_key(MAX_HITS, rank);
        hits[..MAX_HITS].sort_by_key(rank);
    } else {
        hits.sort_by_key(rank);
    }
    (hits, by_server)
}

/// The worth of the words in these places; `None` if one of them stands in none.
fn rank(words: &[&str], places: [&str; 3]) -> Option<(u32, [bool; 3])> {
    let mut score = 0;
    let mut holds = [false; 3];
    for word in words {
        let mut best = 0;
        for (n, place) in places.iter().enumerate() {
            let Some(at) = place.find(word) else { continue };
            holds[n] = true;
            let before = place[..at].chars().next_back();
            let after = place[at + word.len()..].chars().next();
            let is_edge = |next: Option<char>| next.is_none_or(|c| !c.is_alphanumeric());
            let worth = match (is_edge(before), is_edge(after)) {
                (true, true) => WORTH[n] * 2,
                (true, false) => WORTH[n] * 3 / 2,
                (false, _) => WORTH[n],
            };
            best = best.max(if place.len() == word.len() { worth * 2 } else { worth });
        }
        if best == 0 {
            return None;
        }
        score += best;
    }
    Some((score, holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(question: &str, places: [&str; 3]) -> u32 {
        let words: Vec<&str> = question.split_whitespace().collect();
        rank(&words, places).map_or(0, |(score, _)| score)
    }

    #[test]
    fn a_name_is_worth_more_than_a_uri_and_a_uri_more_than_a_description() {
        let name = score("runbook", ["runbook for x", "a:1", "b"]);
        let uri = score("runbook", ["x", "doc:runbook", "b"]);
        let description = score("runbook", ["x", "a:1", "a runbook"]);
        assert!(name > uri && uri > description && description > 0);
    }

    #[test]
    fn whole_words_come_before_beginnings_and_those_before_the_rest() {
        let at = |name| score("log", [name, "", ""]);
        assert!(at("log") > at("the log file"));
        assert!(at("the log file") > at("login page"));
        assert!(at("login page") > at("catalogue"));
    }

    #[test]
    fn every_word_must_be_there() {
        assert_eq!(score("two words", ["two", "a:b", "nothing"]), 0);
        assert!(score("two words", ["two", "a:words", ""]) > 0);
    }

    #[test]
    fn letters_beyond_ascii_are_cut_nowhere() {
        assert!(score("é", ["café", "", ""]) > 0);
        assert!(score("日", ["今日は", "", ""]) > 0);
    }
}
