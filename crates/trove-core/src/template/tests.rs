//! What a reader of the RFC, of our rules and of real servers' templates would expect.

use super::*;

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap()
}

/// One line per fit: `id=5 path=[a|b]`, `missing id`, `id: Simple` or `no`.
fn describe(fit: &Fit) -> String {
    match fit {
        Fit::Match(bindings) => {
            let one = |(name, value): (&str, &Binding)| match value {
                Binding::Text(text) => format!("{name}={text}"),
                Binding::List(list) => format!("{name}=[{}]", list.join("|")),
            };
            bindings.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        Fit::MissingVariable { names, .. } => format!("missing {}", names.join(",")),
        Fit::InvalidVariable { name, rule } => format!("{name}: {rule:?}"),
        Fit::No => "no".to_owned(),
    }
}

#[track_caller]
fn check(text: &str, uri: &str, expect: &str) {
    let fit = template(text).fit(uri);
    assert_eq!(describe(&fit), expect, "{uri} against {text}");
    let matched = template(text).matches(uri);
    assert_eq!(matched.is_some(), matches!(fit, Fit::Match(_)), "fit and matches disagree");
}

#[test]
fn real_templates_read_their_uris() {
    check("file:///{path}", "file:///notes.txt", "path=notes.txt");
    check("file:///{path}", "file:///a/b", "no");
    check("file:///{path}", "file:///a%2Fb", "path=a/b");
    check("file:///{+path}", "file:///a/b%20c/d.txt", "path=a/b c/d.txt");
    check("files://{path*}", "files://src/lib.rs", "path=src/lib.rs");
    check(
        "demo://resource/dynamic/text/{resourceId}",
        "demo://resource/dynamic/text/7",
        "resourceId=7",
    );
    let repo = "repo://{owner}/{repo}/contents{/path*}";
    check(repo, "repo://o/r/contents/src/@types/x.ts", "owner=o repo=r path=[src|@types|x.ts]");
    check(repo, "repo://o/r/contents", "owner=o repo=r");
    check(repo, "repo://o/r/contents/", "owner=o repo=r path=[]");
    check("search://items{?q,limit}", "search://items?limit=5&q=a%20b:c", "limit=5 q=a b:c");
    check("search://items{?q,limit}", "search://items", "");
    check("search://items{?q,limit}", "search://items?", "");
    check("guide://category/{name}/{docId}", "guide://category/a/b", "name=a docId=b");
    check("guide://category/{name}/{docId}", "guide://category/a/b/c", "no");
    check("note://{id}", "note://übung-1", "id=übung-1");
    check("note://{id}", "note://%C3%BC", "id=ü");
    check("test://template/{id}/data", "test://template/5/data", "id=5");
    check("test://template/{id}/data", "test://template/5/date", "no");
    check("users://{user_id}/profile", "users://u-1/profile", "user_id=u-1");
    check("quilt+s3://{bucket}#package={name}", "quilt+s3://b.c#package=n", "bucket=b.c name=n");
    check("doc://{user-id}.{ext}", "doc://a.tar.gz", "user-id=a.tar ext=gz");
    check("plain://text", "plain://text", "");
    check("plain://text", "plain://texts", "no");
    check("", "", "");
    check("", "x", "no");
}

#[test]
fn every_operator_reads_what_it_writes() {
    check("{x,y}", "1024,768", "x=1024 y=768");
    check("{+x,y}/here", "a,b/c/here", "x=a y=b/c");
    check("X{#var}", "X#a/b?c", "var=a/b?c");
    check("X{#x,y}", "X#1,2", "x=1 y=2");
    check("X{#x,y}", "X,2", "no");
    check("X{.var}", "X.value", "var=value");
    check("X{.x,y}", "X.1.2", "x=1 y=2");
    check("X{.list*}", "X.red.green", "list=[red|green]");
    check("{/x,y}/end", "/1/2/end", "x=1 y=2");
    check("{/x,y}/end", "/1/end", "x=1");
    check("{/x,y}/end", "/end", "");
    check("m{;x,y}", "m;y=2;x=1", "y=2 x=1");
    check("m{;x,y}", "m;x", "x=");
    check("m{;list*}", "m;list=a;list=b", "list=[a|b]");
    check("s{?x,y}", "s?x=1&y=", "x=1 y=");
    check("s{?x,y}", "s?y=2", "y=2");
    check("s{?tag*}", "s?tag=a&tag=b", "tag=[a|b]");
    check("s?fixed=yes{&x}", "s?fixed=yes&x=1", "x=1");
    check("s?fixed=yes{&x}", "s?fixed=yes", "");
    check("s{?x}{&y}", "s?y=2&x=1", "y=2 x=1");
    check("s{?x}{#f}", "s?x=1#top", "x=1 f=top");
    check("s/{+path}{?q}", "s/a/b?q=1", "path=a/b q=1");
    check("s/{+path}{?q}", "s/a?b?q=1", "path=a?b q=1");
    check("s/{+path}{#frag}", "s/a#b", "path=a frag=b");
    check("{name}{.ext}", "a.txt", "name=a ext=txt");
    check("{v:3}", "val", "v=val");
    check("{v:3}", "v%C3%A9l", "v=vél");
    check("{v:3}{rest}", "value", "v=val rest=ue");
    check("{v:1}/{v}", "v/value", "v=value");
    check("{v}/{v}", "a/a", "v=a");
    check("{a}{b}", "xyz", "a=xy b=z");
    check("{a}{b}", "x%C3%A9", "a=x b=é");
    check("{a}{b}", "x", "missing b");
}

#[test]
fn a_variable_without_a_value_is_named() {
    check("metadata://templates/{id}", "metadata://templates/", "missing id");
    check("metadata://templates/{id}", "metadata://templates", "no");
    check("metadata://templates{/id}", "metadata://templates/", "missing id");
    check("file:///{+path}", "file:///", "missing path");
    check("files://{path*}", "files://", "missing path");
    check("guide://category/{name}/{docId}", "guide://category//x", "missing name");
    check("guide://category/{name}/{docId}", "guide://category/x/", "missing docId");
    check("guide://category/{name}/{docId}", "guide://category/", "missing name,docId");
    check("users://{user_id}/profile", "users://", "missing user_id");
    check("users://{user_id}/profile", "users:///profile", "missing user_id");
    check("geo://{lat,lon}", "geo://5", "missing lon");
    check("x://{a}/{a}", "x:///", "missing a");
}

#[test]
fn a_value_that_breaks_a_rule_is_named_with_the_rule() {
    check("note://{id}", "note://a b", "id: Simple");
    check("note://{id}", "note://a?x=1", "id: Simple");
    check("note://{id}", "note://{id}", "id: Filled");
    check("note://{id}", "note://{other}", "id: Filled");
    check("note://{id}", "note://%zz", "id: Escape");
    check("note://{id}", "note://%C3", "id: Escape");
    check("note://{id}", "note://%FF%FE", "id: Escape");
    check("note://{id}", "note://100%", "id: Escape");
    check("note://{id:3}", "note://abcd", "id: AtMost(3)");
    check("file:///{+path}", "file:///a b", "path: Reserved");
    check("repo://{o}/contents{/path*}", "repo://x/contents{/path*}", "path: Filled");
    check("search://items{?q,limit}", "search://items{?q,limit}", "q: Filled");
    check("search://items{?q,limit}", "search://items?q={q}", "q: Filled");
    check("search://items{?q,limit}", "search://items?q=1&zzz=2", "zzz: KnownName");
    check("search://items{?q,limit}", "search://items?q=a b&limit=2", "q: Reserved");
    check("search://items{?q,limit}", "search://items?q=1&q=2", "q: GivenOnce");
    check("m{;x,y}", "m;x=a b;y=1", "x: Simple");
    check("s{?q:2}", "s?q=abc", "q: AtMost(2)");
    check("x://{a}/{a}", "x://1/12", "a: SameEverywhere");
    check("x://{a:1}/{a}", "x://1/2", "a: SameEverywhere");
}

#[test]
fn no_value_makes_a_parent_segment() {
    for path in ["..", "../a", "a/../b", "a/..", "%2e%2e/a", ".%2E", "a%2F..%2Fb", "..%5Ca"] {
        check("file:///{+path}", &format!("file:///{path}"), "path: NoParentSegment");
        check("f://{path*}", &format!("f://{path}"), "path: NoParentSegment");
        check("f://x{/path*}", &format!("f://x/{path}"), "path: NoParentSegment");
    }
    check("file:///{path}", "file:///..%2F..%2Fetc%2Fpasswd", "path: NoParentSegment");
    check("a://{dir}/{name}", "a://../x", "dir: NoParentSegment");
    check("a:///.{name}", "a:///.%2e", "name: NoParentSegment");
    check("a:///{x}{y}", "a:///..", "x: NoParentSegment");
    check("a:///{x}/b", "a:///.../b", "x=...");
    check("file:///{+path}", "file:///a..b/.c/d..", "path=a..b/.c/d..");
    check("s://i{?q}", "s://i?q=..", "q=..");
}

#[track_caller]
fn check_fault(text: &str, expect: &str) {
    assert_eq!(UriTemplate::parse(text).unwrap_err().to_string(), expect, "{text}");
}

#[test]
fn a_bad_template_says_what_and_where() {
    check_fault("a://{id", "`{` is not closed at byte 4");
    check_fault("a://id}", "`}` closes nothing at byte 6");
    check_fault("a://{}", "not a variable name at byte 5");
    check_fault("a://{a,}", "not a variable name at byte 7");
    check_fault("a://{a b}", "not a variable name at byte 6");
    check_fault("a://{a{b}}", "not a variable name at byte 6");
    check_fault("a://{ü}", "not a variable name at byte 5");
    check_fault("a://{=a}", "unknown operator '=' at byte 5");
    check_fault("a://{a:0}", "not a prefix length from 1 to 9999 at byte 7");
    check_fault("a://{a:10000}", "not a prefix length from 1 to 9999 at byte 7");
    check_fault("a://{a:int}", "not a prefix length from 1 to 9999 at byte 7");
    check_fault("a://x y", "a character that no URI holds at byte 5");
    check_fault("a://%4{a}", "a character that no URI holds at byte 4");
    check_fault(&"x".repeat(4097), "the template is longer than 4096 bytes at byte 4096");
    check_fault(&"{a}".repeat(33), "more than 32 expressions at byte 96");
    check_fault(&format!("{{{}}}", ["a"; 65].join(",")), "more than 64 variables at byte 129");
}

#[test]
fn a_template_tells_its_variables_and_its_prefix() {
    let repo = template("repo://{owner}/{repo}{/owner,path*}{?q:3}");
    assert_eq!(repo.variables().collect::<Vec<_>>(), ["owner", "repo", "path", "q"]);
    assert_eq!(repo.literal_prefix(), "repo://");
    assert_eq!(template("{a}b").literal_prefix(), "");
    assert_eq!(template("ab").literal_prefix(), "ab");
}

#[test]
fn the_more_specific_template_is_the_greater() {
    let ordered = [
        "a://x/y/{id}",
        "a://x/{id}",
        "a://{id}",
        "a://{id}{sub}",
        "a://{+path}",
        "a://{+path}{more}",
    ];
    for pair in ordered.windows(2) {
        let (narrow, wide) = (template(pair[0]).specificity(), template(pair[1]).specificity());
        assert!(narrow > wide, "{pair:?}");
    }
}

#[test]
fn a_template_is_small() {
    let template = template("repo://{owner}/{repo}/contents{/path*}");
    let compiled = &template.0;
    let bytes = size_of::<Compiled>()
        + compiled.parsed.text.len()
        + size_of_val(&*compiled.parsed.parts)
        + size_of_val(&*compiled.parsed.variables)
        + size_of_val(&*compiled.steps);
    assert!(bytes < 400, "{bytes} bytes");
    assert_eq!(size_of::<UriTemplate>(), size_of::<usize>());
}

/// The variables of the RFC's section 3.2, without its maps.
fn rfc_values() -> Bindings {
    let list = |items: &[&str]| Binding::List(items.iter().map(|&item| item.to_owned()).collect());
    [
        ("count", list(&["one", "two", "three"])),
        ("dom", list(&["example", "com"])),
        ("dub", "me/too".into()),
        ("hello", "Hello World!".into()),
        ("half", "50%".into()),
        ("var", "value".into()),
        ("who", "fred".into()),
        ("base", "http://example.com/home/".into()),
        ("path", "/foo/bar".into()),
        ("list", list(&["red", "green", "blue"])),
        ("v", "6".into()),
        ("x", "1024".into()),
        ("y", "768".into()),
        ("empty", "".into()),
        ("no_list", list(&[])),
    ]
    .into_iter()
    .collect()
}

#[test]
fn the_examples_of_the_rfc_expand() {
    let check = |text: &str, expect: &str| {
        let expanded = expand::render(&template(text).0.parsed, &rfc_values()).unwrap();
        assert_eq!(expanded, expect, "{text}");
    };
    for (text, expect) in RFC_EXAMPLES {
        check(text, expect);
    }
}

#[rustfmt::skip] // One example per line, as the RFC lists them.
const RFC_EXAMPLES: &[(&str, &str)] = &[
    ("{count}", "one,two,three"), ("{count*}", "one,two,three"), ("{/count}", "/one,two,three"),
    ("{/count*}", "/one/two/three"), ("{;count}", ";count=one,two,three"),
    ("{;count*}", ";count=one;count=two;count=three"), ("{?count}", "?count=one,two,three"),
    ("{?count*}", "?count=one&count=two&count=three"), ("{&count*}", "&count=one&count=two&count=three"),
    ("{var}", "value"), ("{hello}", "Hello%20World%21"), ("{half}", "50%25"), ("O{empty}X", "OX"),
    ("O{undef}X", "OX"), ("{x,y}", "1024,768"), ("{x,hello,y}", "1024,Hello%20World%21,768"),
    ("?{x,empty}", "?1024,"), ("?{x,undef}", "?1024"), ("?{undef,y}", "?768"), ("{var:3}", "val"),
    ("{var:30}", "value"), ("{list}", "red,green,blue"), ("{list*}", "red,green,blue"),
    ("{+var}", "value"), ("{+hello}", "Hello%20World!"), ("{+half}", "50%25"),
    ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"), ("{+base}index", "http://example.com/home/index"),
    ("O{+empty}X", "OX"), ("O{+undef}X", "OX"), ("{+path}/here", "/foo/bar/here"),
    ("here?ref={+path}", "here?ref=/foo/bar"), ("up{+path}{var}/here", "up/foo/barvalue/here"),
    ("{+x,hello,y}", "1024,Hello%20World!,768"), ("{+path,x}/here", "/foo/bar,1024/here"),
    ("{+path:6}/here", "/foo/b/here"), ("{+list}", "red,green,blue"), ("{+list*}", "red,green,blue"),
    ("{#var}", "#value"), ("{#hello}", "#Hello%20World!"), ("{#half}", "#50%25"), ("foo{#empty}", "foo#"),
    ("foo{#undef}", "foo"), ("{#x,hello,y}", "#1024,Hello%20World!,768"), ("{#path,x}/here", "#/foo/bar,1024/here"),
    ("{#path:6}/here", "#/foo/b/here"), ("{#list}", "#red,green,blue"), ("{#list*}", "#red,green,blue"),
    ("{.who}", ".fred"), ("{.who,who}", ".fred.fred"), ("{.half,who}", ".50%25.fred"), ("www{.dom*}", "www.example.com"),
    ("X{.var}", "X.value"), ("X{.empty}", "X."), ("X{.undef}", "X"), ("X{.var:3}", "X.val"),
    ("X{.list}", "X.red,green,blue"), ("X{.list*}", "X.red.green.blue"), ("X{.no_list}", "X"),
    ("{/who}", "/fred"), ("{/who,who}", "/fred/fred"), ("{/half,who}", "/50%25/fred"), ("{/who,dub}", "/fred/me%2Ftoo"),
    ("{/var}", "/value"), ("{/var,empty}", "/value/"), ("{/var,undef}", "/value"), ("{/var,x}/here", "/value/1024/here"),
    ("{/var:1,var}", "/v/value"), ("{/list}", "/red,green,blue"), ("{/list*}", "/red/green/blue"),
    ("{;who}", ";who=fred"), ("{;half}", ";half=50%25"), ("{;empty}", ";empty"), ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;v,bar,who}", ";v=6;who=fred"), ("{;x,y}", ";x=1024;y=768"), ("{;x,y,empty}", ";x=1024;y=768;empty"),
    ("{;x,y,undef}", ";x=1024;y=768"), ("{;hello:5}", ";hello=Hello"), ("{;list}", ";list=red,green,blue"),
    ("{?who}", "?who=fred"), ("{?half}", "?half=50%25"), ("{?x,y}", "?x=1024&y=768"), ("{?x,y,empty}", "?x=1024&y=768&empty="),
    ("{?x,y,undef}", "?x=1024&y=768"), ("{?var:3}", "?var=val"), ("{?list}", "?list=red,green,blue"),
    ("{&who}", "&who=fred"), ("{&half}", "&half=50%25"), ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
    ("{&x,y,empty}", "&x=1024&y=768&empty="), ("{&var:3}", "&var=val"), ("{&list}", "&list=red,green,blue"),
];

#[test]
fn expansion_asks_for_what_a_uri_needs() {
    let check = |text: &str, expect: &str| {
        let shown = template(text).expand(&rfc_values()).map_err(|error| error.to_string());
        assert_eq!(shown.unwrap_or_else(|error| error), expect, "{text}");
    };
    check("a://{var}{/undef}{?undef}", "a://value");
    check("a://{undef}/{var}/{empty}/{+no_list}/{undef}", "no value for undef, empty, no_list");
    check("a://{list:2}", "list takes one text, not a list");
    check("a://ü/{var}", "a://ü/value");
}
