//! Templates: what they can do, and what they cannot do to us.

use super::*;

#[derive(Debug)]
struct Fixed;

impl Flags for Fixed {
    fn flag(
        &self,
        _: Option<&str>,
        name: &str,
        own: Option<&serde_json::Value>,
    ) -> Option<serde_json::Value> {
        (name == "workflow").then(|| serde_json::json!(true)).or_else(|| own.cloned())
    }
}

fn rendered(files: &[(&str, &str)], text: &str) -> Result<String, String> {
    let project = ProjectSettings { description: Some("Ours".into()), ..Default::default() };
    rendered_for(Some(("shop", &project)), files, text)
}

fn rendered_for(
    project: Option<(&str, &ProjectSettings)>,
    files: &[(&str, &str)],
    text: &str,
) -> Result<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("guide");
    std::fs::write(dir.path().join("secret"), "outside").unwrap();
    for (path, text) in files {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }
    let scene =
        Scene { store: &Store::new(&root), flags: Arc::new(Fixed), project, date: "2026-07-28" };
    render(&scene, ("lang", "lang", "a.md.j2"), text).map_err(|error| error.to_string())
}

#[track_caller]
fn check(text: &str, expect: &str) {
    assert_eq!(rendered(&[], text).unwrap(), expect, "{text}");
}

#[test]
fn a_template_knows_its_project_flags_date_and_name() {
    check("{{ project.name }}, {{ project.description }}", "shop, Ours");
    check("{% if flags.workflow %}on{% endif %}{% if flags.other %}no{% endif %}", "on");
    check("{{ date }} {{ document.category }}/{{ document.path }}", "2026-07-28 lang/a.md.j2");
    check(
        "{% for x in ['b', 'a'] | sort %}{{ loop.index + 1 }}{{ x|upper }} {% endfor %}",
        "2A 3B ",
    );
    check("{% set x = 1 %}{{ x }}{% raw %}{{ ~ }}{% endraw %}{# ~ #}<b>", "1{{ ~ }}<b>");
    check("{{ ['a', 'b'] | join('~') }} {{ 'a' | replace('a', \"b\") }}", "a~b b");
}

#[test]
fn what_is_not_there_is_written_as_nothing() {
    let bare = ProjectSettings::default();
    for project in [None, Some(("", &bare))] {
        let check = |text: &str, expect: &str| {
            assert_eq!(rendered_for(project, &[], text).unwrap(), expect, "{text}");
        };
        check(
            "<{{ project.name }}><{{ project.description }}><{{ flags['nobody-set'] }}>",
            "<><><>",
        );
        check("<{{ flags.unset | upper }}{{ flags.unset | trim | title }}>", "<>");
        check("<{{ flags.unset | replace('o', 'x') }}{{ project.description | lower }}>", "<>");
        check(
            "{{ flags.unset | default('ours') }} {{ project.description | d('none') }}",
            "ours none",
        );
        check("{{ ['a', flags.unset, 'b'] | join(', ') }}", "a, b");
        check("{% for x in flags.unset %}x{% endfor %}{{ flags.unset is none }}", "True");
    }
    check("{{ flags.workflow | default('off') }} {{ 0 | default('zero', true) }}", "True zero");
    check(
        "{{ ' aBC ' | trim | capitalize }} {{ '--x-' | trim('-') }} {{ 'a b' | title }}",
        "Abc x A B",
    );
}

#[test]
fn a_name_that_means_nothing_is_an_error_and_no_hole() {
    for text in
        ["{{ projct.name }}", "{{ project.nmae }}", "{{ dat | upper }}", "{{ document.x | trim }}"]
    {
        let error = rendered(&[], text).unwrap_err();
        assert!(error.contains("undefined") && error.contains("line 1"), "{text}: {error}");
    }
}

#[test]
fn partials_of_the_category_come_before_those_of_the_guide() {
    let files = [("_partials/head.md", "guide"), ("lang/_partials/own.md", "own {{ date }}")];
    let text = "{% include 'head.md' %} {% include '_partials/own.md' %}";
    assert_eq!(rendered(&files, text).unwrap(), "guide own 2026-07-28");
}

#[test]
fn nothing_but_partials_inside_of_the_guide_is_included() {
    let files = [("lang/plain.md", "no"), ("_partials/x.md", "")];
    for name in [
        "lang/plain.md",
        "../secret",
        "_partials/../../secret",
        "/etc/passwd",
        "_partials/../lang/plain.md",
        "missing.md",
    ] {
        let error = rendered(&files, &format!("{{% include '{name}' %}}")).unwrap_err();
        assert!(error.contains("lang/a.md.j2"), "{name}: {error}");
    }
}

#[test]
fn a_template_that_would_not_end_is_stopped() {
    let nested = "{% for a in range(1000) %}{% for b in range(1000) %}x{% endfor %}{% endfor %}";
    assert!(rendered(&[], nested).unwrap_err().contains("fuel"));
    let itself = [("_partials/a.md", "{% include 'a.md' %}")];
    assert!(rendered(&itself, "{% include 'a.md' %}").is_err());
}

#[test]
fn a_template_cannot_grow_without_end() {
    let long = "x".repeat(500_000);
    let output = format!("{{% for a in range(1000) %}}{long}{{% endfor %}}");
    assert!(rendered(&[], &output).unwrap_err().contains("more than"));
    let nested: String =
        (0..60).map(|n| format!("{{% set a{} = [a{n}, a{n}] %}}", n + 1)).collect::<String>();
    assert!(rendered(&[], &format!("{{% set a0 = 'x' %}}{nested}{{{{ a60 }}}}")).is_err());
    assert!(rendered(&[], &format!("{{% set a0 = 'x' %}}{nested}{{{{ a60 | upper }}}}")).is_err());
    for text in [
        "{{ a ~ a }}",
        "{{ '\\'' ~ a }}",
        "{{ a + a }}",
        "{{ 'x' * 9 }}",
        "{% set a %}x{% endset %}",
        "{% macro m() %}{% endmacro %}",
        "{% filter upper %}x{% endfilter %}",
        "{% block a %}{% endblock %}",
        "{% for x in y recursive %}{% endfor %}",
        "{%- set a -%}x{%- endset -%}",
        "{% import 'a' as b %}",
        "{% raw %}{% endraw %}{{ a ~ a }}",
        "{# #}{{ a ~ a }}",
        "{{ '}}' ~ a }}",
        "{% extends 'a' %}",
    ] {
        let error = rendered(&[], text).unwrap_err();
        assert!(
            error.contains("cannot be used")
                || error.contains("needs")
                || error.contains("can only"),
            "{text}: {error}"
        );
    }
}

#[test]
fn an_error_says_where() {
    let error = rendered(&[], "one\n{{ nothing.at.all }}").unwrap_err();
    assert!(error.contains("in line 2"), "{error}");
}
