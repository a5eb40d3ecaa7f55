//! Properties that hold for every template, value and URI. `iri-string`, which can expand but not
//! match, is the second opinion.

use iri_string::template::simple_context::{SimpleContext, Value};
use iri_string::{spec::UriSpec, template::UriTemplateStr};
use proptest::{collection::vec, prelude::*, sample::select};

use super::table::VISITS;
use super::*;

/// The expansion by `iri-string`. Only `r` stands in reserved expressions.
fn oracle(text: &str, values: &Bindings) -> String {
    let mut context = SimpleContext::new();
    for (name, value) in values.iter() {
        let value = match value {
            Binding::Text(text) if name == "r" => Value::String(with_escapes(text)),
            Binding::Text(text) => Value::String(text.clone()),
            Binding::List(list) => Value::List(list.clone()),
        };
        context.insert(name, value);
    }
    let template = UriTemplateStr::new(text).unwrap();
    template.expand::<UriSpec, _>(&context).unwrap().to_string()
}

/// The text with its non-ASCII characters escaped, which a reserved expression keeps.
/// Given them plain, iri-string 0.7.14 panics: it cuts them after their first byte.
fn with_escapes(text: &str) -> String {
    let escaped = |character: char| match character {
        _ if character.is_ascii() => character.to_string(),
        _ => character.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect(),
    };
    text.chars().map(escaped).collect()
}

/// A value over unicode, reserved characters and things that look like syntax.
fn value() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z0-9._~-]{1,4}",
        3 => "[:/?#\\[\\]@!$&'()*+,;= \"<>\\\\^`{|}%]{1,2}",
        2 => any::<char>().prop_map(String::from),
        1 => select(vec!["%41", "%C3%A9", "日本", "é", "..", "👩‍👩‍👧"]).prop_map(String::from),
    ];
    vec(piece, 1..5).prop_map(|pieces| pieces.concat())
}

/// Templates whose parts can be told apart, so that every value comes back.
const CLEAR: &[&str] = &[
    "note://{a}",
    "x://{a}/{b}/data",
    "x://{a,b}",
    "x://{a}{/b}",
    "x://r{/l*}",
    "x://r{/l*}{?a,b}",
    "x://{a}{;b,c}",
    "x://i{?a,b,c}",
    "x://i{?a}{&b,l*}",
    "x://i?k=1{&a,b}",
    "x://i{;l*}",
    "x://{a}{?b}{#r}",
    "x://{a*}",
    "x://{b}/{a*}",
    "x://{b}#c={c}",
    "file:///{+r}",
    "x://{a}/{+r}",
];

/// Expressions to string together at random; what they write may be ambiguous.
const ANY: &[&str] = &[
    "{a}", "{b}", "{a,b}", "{+r}", "{#r}", "{.b}", "{.l*}", "{/a}", "{/a,b}", "{/l*}", "{;a,c}",
    "{?a,b}", "{&c}", "{c*}", "{?l*}", "/", "-", "x", "?", "=", ",", ".", "#", "&a=",
];

fn values() -> impl Strategy<Value = Bindings> {
    (value(), value(), value(), value(), vec(value(), 1..4)).prop_map(|(a, b, c, r, l)| {
        let texts = [("a", a), ("b", b), ("c", c), ("r", r)];
        let mut values: Bindings = texts.into_iter().collect();
        values.bind("l", l);
        values
    })
}

fn any_template() -> impl Strategy<Value = String> {
    vec(select(ANY), 0..7).prop_map(|parts| format!("x:/{}", parts.concat()))
}

fn climbs(values: &Bindings) -> bool {
    let climbs = |text: &String| text.split(['/', '\\']).any(|segment| segment == "..");
    values.iter().any(|(_, value)| match value {
        Binding::Text(text) => climbs(text),
        Binding::List(list) => list.iter().any(climbs),
    })
}

proptest! {
    #[test]
    fn what_another_library_expanded_reads_back(text in select(CLEAR), values in values()) {
        // A reserved expression keeps escapes that the value already had.
        prop_assume!(!climbs(&values) && !values.text("r").unwrap().contains('%'));
        let template = UriTemplate::parse(text).unwrap();
        let uri = oracle(text, &values);
        let matched = template.matches(&uri).unwrap_or_default();
        for name in template.variables() {
            prop_assert_eq!(matched.get(name), values.get(name), "{} in {}", name, uri);
        }
    }

    #[test]
    fn expansion_agrees_with_another_library(text in any_template(), values in values()) {
        let template = UriTemplate::parse(&text).unwrap();
        prop_assert_eq!(template.expand(&values).unwrap(), oracle(&text, &values));
    }

    // iri-string 0.7.14 counts bytes when it cuts, so the second opinion is ASCII only.
    #[test]
    fn prefixes_agree_with_another_library(a in "[ -$&-~]{1,12}", max in 1..14_u16) {
        for operator in ["", "+", "#", ".", "/", ";", "?", "&"] {
            let text = format!("x{{{operator}a:{max}}}");
            let values: Bindings = [("a", a.clone())].into_iter().collect();
            let template = UriTemplate::parse(&text).unwrap();
            prop_assert_eq!(template.expand(&values).unwrap(), oracle(&text, &values));
        }
    }

    /// However a URI is split among ambiguous variables, the parts make it up again.
    #[test]
    fn what_is_read_expands_to_the_same_uri(text in any_template(), values in values()) {
        let template = UriTemplate::parse(&text).unwrap();
        // A variable that stands there twice may be absent once and present once.
        prop_assume!(template.variables().count() == template.0.parsed.variables.len());
        let uri = template.expand(&values).unwrap();
        // A reserved expression cannot write a value that looks like an escape.
        prop_assume!(!uri.contains("%25") && !values.text("r").unwrap().contains('%'));
        match template.fit(&uri) {
            // Reading drops empty pairs, and `{+r}` may begin with one.
            Fit::Match(_) if ["{?", "{&", "{;"].iter().any(|sign| text.contains(sign)) => {}
            Fit::Match(bindings) => {
                // A character that one operator left plain may be escaped by another: compare
                // decoded.
                let again = expand::render(&template.0.parsed, &bindings).unwrap();
                prop_assert_eq!(units::decode(&again), units::decode(&uri), "{:?}", bindings);
            }
            // `..` can come about at any seam, and `{+r}` may hold what looks like a pair.
            Fit::InvalidVariable { rule, .. } => prop_assert!(
                matches!(rule, VariableRule::NoParentSegment | VariableRule::GivenOnce),
                "{}: {:?}", uri, rule
            ),
            other => prop_assert!(false, "{}: {:?}", uri, other),
        }
    }

    #[test]
    fn nothing_panics(text in ".{0,30}", uri in ".{0,40}", tail in any_template()) {
        for text in [&text, &tail, &format!("{tail}{text}")] {
            if let Ok(template) = UriTemplate::parse(text) {
                template.fit(&uri);
                template.fit(&format!("{}{uri}", template.literal_prefix()));
                template.fit(text);
            }
        }
    }

    #[test]
    fn a_damaged_uri_does_not_panic(
        text in any_template(), values in values(), cut in any::<prop::sample::Index>(), odd in any::<char>(),
    ) {
        let template = UriTemplate::parse(&text).unwrap();
        let uri = template.expand(&values).unwrap();
        let mut damaged: Vec<char> = uri.chars().collect();
        damaged.insert(cut.index(damaged.len()), odd);
        template.fit(&damaged.iter().collect::<String>());
        template.fit(&damaged[..cut.index(damaged.len())].iter().collect::<String>());
    }

    #[test]
    fn work_is_bounded_by_steps_times_bytes(text in any_template(), uri in "[a/?&=;.,#%]{0,200}") {
        let template = UriTemplate::parse(&text).unwrap();
        let uri = format!("x:/{uri}");
        prop_assert!(visits(&template, &uri) <= budget(&template, uri.len()));
    }
}

fn visits(template: &UriTemplate, uri: &str) -> usize {
    VISITS.set(0);
    template.fit(uri);
    VISITS.get()
}

/// An exact and a loose reading, each of which fills the table and walks it once.
fn budget(template: &UriTemplate, uri_bytes: usize) -> usize {
    4 * (template.0.steps.len() + 1) * (uri_bytes + 1)
}

#[test]
fn hostile_uris_take_linear_time() {
    let texts = [
        &"{a}".repeat(32),
        &"{+a}/".repeat(32),
        &"{a*}x".repeat(31),
        &"{/l*}".repeat(32),
        &"{.a,b}".repeat(31),
        "{?l*}",
        "{;l*}",
        "{;a,aa,aaa}{?a,aa,aaa}{&l*}",
    ];
    let pieces =
        ["a", "a/", "/", "x", ".", "?l=", "&l=a", ";l=a", ";aa", "%", "%C3%A9", "{a}", "é"];
    for text in texts {
        let template = UriTemplate::parse(text).unwrap();
        for piece in pieces {
            for (lead, tail) in [("", ""), ("", "!"), ("?", ""), ("?", " "), (";", ""), (";", " ")]
            {
                let uri = format!("{lead}{}{tail}", piece.repeat(300));
                let visits = visits(&template, &uri);
                assert!(visits <= budget(&template, uri.len()), "{visits}: {piece} for {text}");
            }
        }
    }
}

#[test]
fn a_megabyte_is_matched() {
    let long = "ab/".repeat(350_000);
    let template = UriTemplate::parse("file:///{+path}{?q}").unwrap();
    let uri = format!("file:///{long}?q=1");
    assert_eq!(template.matches(&uri).unwrap().text("q"), Some("1"));
    assert_eq!(UriTemplate::parse("file:///{path}/x").unwrap().fit(&uri), Fit::No);
}

#[test]
fn t50_fuzz_templates() {
    trove_fuzz::feed("template", |input| {
        let text = String::from_utf8_lossy(input);
        let (template, uri) = text.split_once('\n').unwrap_or((&text, "doc://a/b?c=d"));
        let Ok(template) = UriTemplate::parse(template) else { return (0, false) };
        let found = template.matches(uri);
        if let Some(values) = &found {
            assert!(template.expand(values).is_ok(), "what was found can be put in again");
        }
        let _ = template.fit(uri);
        (1 + template.variables().count().min(9), found.is_some())
    });
}

/// One value with a hundred thousand commas, which a matcher that goes back and forth over
/// them would not finish.
#[test]
fn t24_values_of_any_length_are_matched_in_one_go() {
    let commas = format!("doc://{}/x", "a,".repeat(100_000));
    let escapes = format!("doc://{}/x", "%2".repeat(100_000));
    let parts = format!("doc://{}", "/a".repeat(100_000));
    for text in ["doc://{+path}", "doc://{list*}/{x}", "doc://{a}{b}{c}/x", "doc:/{/parts*}"] {
        let template = UriTemplate::parse(text).expect("a template");
        for uri in [&commas, &escapes, &parts] {
            let _ = (template.matches(uri), template.fit(uri));
        }
    }
}
