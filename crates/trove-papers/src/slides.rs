//! Presentations of PowerPoint and OpenDocument: the text of each slide, with its notes.

use crate::{
    Parts,
    archive::Archive,
    markup::{Step, walk},
};

const EMPTY: &str = "this slide has no text";

/// A presentation of PowerPoint.
pub(crate) fn power_point(archive: &mut Archive<'_>) -> Result<Parts, String> {
    let names = order(archive)?;
    if names.is_empty() {
        return Err("it has no slides".to_owned());
    }
    let mut parts = Parts::of("slide");
    for name in names {
        if !parts.has_room() {
            parts.leave_out();
            continue;
        }
        let Some(xml) = archive.text(&name)? else {
            parts.add("", "", "this slide is missing in the file");
            continue;
        };
        let mut lines = lines_of(&xml)?;
        let title = if lines.is_empty() { String::new() } else { lines.remove(0) };
        for note in notes_of(archive, &name)? {
            lines.push(format!("Note: {note}"));
        }
        let is_empty = title.is_empty() && lines.is_empty();
        parts.add(&title, &lines.join("\n"), if is_empty { EMPTY } else { "" });
    }
    Ok(parts)
}

/// The slides in the order in which they are shown.
fn order(archive: &mut Archive<'_>) -> Result<Vec<String>, String> {
    let relations = archive.relations("ppt/presentation.xml")?;
    let mut names = Vec::new();
    walk(&archive.needed("ppt/presentation.xml")?, |step| {
        if let Step::Begin(element) = step
            && element.name == "sldId"
            && let Some(target) = element.reference(&relations)
        {
            names.push(target);
        }
    })?;
    if !names.is_empty() {
        return Ok(names);
    }
    // A presentation without an order has its slides by their numbers.
    let mut numbered: Vec<(usize, String)> = Vec::new();
    for name in archive.names() {
        let number =
            name.strip_prefix("ppt/slides/slide").and_then(|rest| rest.strip_suffix(".xml"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            numbered.push((number, name));
        }
    }
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, name)| name).collect())
}

/// The paragraphs of a slide's notes, without the slide's number.
fn notes_of(archive: &mut Archive<'_>, slide: &str) -> Result<Vec<String>, String> {
    let relations = archive.relations(slide)?;
    let notes = relations.into_iter().find(|(_, target)| target.contains("notesSlides/"));
    let Some((_, name)) = notes else { return Ok(Vec::new()) };
    let xml = archive.text(&name)?.unwrap_or_default();
    let is_number = |line: &String| line.chars().all(|letter| letter.is_ascii_digit());
    Ok(lines_of(&xml)?.into_iter().filter(|line| !is_number(line)).collect())
}

/// The paragraphs of a drawing; a title stands before all others.
fn lines_of(xml: &str) -> Result<Vec<String>, String> {
    let (mut lines, mut line): (Vec<String>, String) = (Vec::new(), String::new());
    let (mut is_text, mut is_title, mut titles) = (false, false, 0);
    walk(xml, |step| match step {
        Step::Begin(element) => match element.name {
            "sp" => is_title = false,
            "ph" => {
                is_title =
                    matches!(element.attribute("type").as_deref(), Some("title" | "ctrTitle"))
            }
            "t" => is_text = true,
            "br" => line.push(' '),
            "tc" if !line.is_empty() => line.push('\t'),
            _ => {}
        },
        Step::End("t") => is_text = false,
        Step::End("p") => {
            let paragraph = std::mem::take(&mut line);
            if paragraph.trim().is_empty() {
                return;
            }
            if is_title {
                lines.insert(titles, paragraph);
                titles += 1;
            } else {
                lines.push(paragraph);
            }
        }
        Step::Text(text) if is_text => line.push_str(text),
        Step::End(_) | Step::Text(_) => {}
    })?;
    Ok(lines)
}

/// A presentation of OpenDocument.
pub(crate) fn open_slides(archive: &mut Archive<'_>) -> Result<Parts, String> {
    let xml = archive.needed("content.xml")?;
    let mut parts = Parts::of("slide");
    let (mut lines, mut line): (Vec<String>, String) = (Vec::new(), String::new());
    let (mut depth, mut is_note) = (0_usize, false);
    walk(&xml, |step| match step {
        Step::Begin(element) => match element.name {
            "p" | "h" => depth += 1,
            "notes" => is_note = true,
            "tab" | "s" | "line-break" => line.push(' '),
            _ => {}
        },
        Step::End(name) => match name {
            "p" | "h" => {
                depth = depth.saturating_sub(1);
                let paragraph = std::mem::take(&mut line);
                if !paragraph.trim().is_empty() {
                    lines.push(if is_note { format!("Note: {paragraph}") } else { paragraph });
                }
            }
            "notes" => is_note = false,
            "page" => {
                let mut all = std::mem::take(&mut lines);
                let has_title = all.first().is_some_and(|first| !first.starts_with("Note: "));
                let title = if has_title { all.remove(0) } else { String::new() };
                let is_empty = title.is_empty() && all.is_empty();
                parts.add(&title, &all.join("\n"), if is_empty { EMPTY } else { "" });
            }
            _ => {}
        },
        Step::Text(text) if depth > 0 => line.push_str(text),
        Step::Text(_) => {}
    })?;
    Ok(parts)
}
