//! Texts of Word and OpenDocument, by their headings.

use std::collections::HashMap;

use crate::{
    Parts,
    archive::Archive,
    markup::{Step, walk},
    outline::Outline,
};

/// The most blanks that one element may stand for.
const MAX_BLANKS: usize = 100;

/// A document of Word, with its notes.
pub(crate) fn word(archive: &mut Archive<'_>) -> Result<Parts, String> {
    let levels = style_levels(&archive.text("word/styles.xml")?.unwrap_or_default())?;
    let mut outline = Outline::split_at(1);
    add_word(&archive.needed("word/document.xml")?, &levels, &mut outline)?;
    for notes in ["word/footnotes.xml", "word/endnotes.xml", "word/comments.xml"] {
        if let Some(xml) = archive.text(notes)? {
            add_word(&xml, &levels, &mut outline)?;
        }
    }
    Ok(outline.end())
}

fn add_word(
    xml: &str,
    levels: &HashMap<String, usize>,
    outline: &mut Outline,
) -> Result<(), String> {
    let (mut is_text, mut in_cell) = (false, 0_usize);
    walk(xml, |step| match step {
        Step::Begin(element) => match element.name {
            "t" => is_text = true,
            "tab" => outline.push("\t"),
            "br" | "cr" => outline.push("\n"),
            "noBreakHyphen" => outline.push("-"),
            "tc" => in_cell += 1,
            "pStyle" => {
                let style = element.attribute("val").unwrap_or_default();
                outline.heading(levels.get(&style).copied().unwrap_or(0));
            }
            _ => {}
        },
        Step::End(name) => match name {
            "t" => is_text = false,
            // Cells of a row stand in one line.
            "p" if in_cell > 0 => outline.push(" "),
            "p" | "tr" => outline.end_line(),
            "tc" => {
                in_cell = in_cell.saturating_sub(1);
                outline.push("\t");
            }
            _ => {}
        },
        Step::Text(text) if is_text => outline.push(text),
        Step::Text(_) => {}
    })?;
    outline.end_line();
    Ok(())
}

/// The level of each style that is a heading: by its outline level, else by its name.
fn style_levels(styles: &str) -> Result<HashMap<String, usize>, String> {
    let mut levels = HashMap::new();
    let mut style = String::new();
    walk(styles, |step| {
        let Step::Begin(element) = step else { return };
        match element.name {
            "style" => {
                style = element.attribute("styleId").unwrap_or_default();
                levels.extend(named_level(&style).map(|level| (style.clone(), level)));
            }
            // Other languages call their headings otherwise.
            "name" => {
                let name = element.attribute("val").unwrap_or_default();
                levels.extend(named_level(&name).map(|level| (style.clone(), level)));
            }
            "outlineLvl" => {
                let level = element.number("val").filter(|level| *level < 9);
                levels.extend(level.map(|level| (style.clone(), level + 1)));
            }
            _ => {}
        }
    })?;
    for plain in ["Title", "Heading1", "Heading2", "Heading3", "Heading4"] {
        let level = named_level(plain).unwrap_or(1);
        levels.entry(plain.to_owned()).or_insert(level);
    }
    Ok(levels)
}

/// The level that the name of a style tells: `Heading 1`, `Title`.
fn named_level(name: &str) -> Option<usize> {
    let name = name.to_ascii_lowercase();
    if name == "title" {
        return Some(1);
    }
    name.strip_prefix("heading")?.trim().parse().ok()
}

/// A text of OpenDocument.
pub(crate) fn open_text(archive: &mut Archive<'_>) -> Result<Parts, String> {
    let xml = archive.needed("content.xml")?;
    let mut outline = Outline::split_at(1);
    let (mut depth, mut in_cell, mut is_deleted) = (0_usize, 0_usize, false);
    walk(&xml, |step| match step {
        Step::Begin(element) => match element.name {
            "tracked-changes" => is_deleted = true,
            "h" => {
                depth += 1;
                outline.heading(element.number("outline-level").unwrap_or(1));
            }
            "p" => depth += 1,
            "table-cell" => in_cell += 1,
            "tab" => outline.push("\t"),
            "line-break" => outline.push("\n"),
            "s" => {
                let blanks = element.number("c").unwrap_or(1).min(MAX_BLANKS);
                outline.push(&" ".repeat(blanks));
            }
            _ => {}
        },
        Step::End(name) => match name {
            "tracked-changes" => is_deleted = false,
            "h" | "p" => {
                depth = depth.saturating_sub(1);
                if in_cell > 0 {
                    outline.push(" ");
                } else {
                    outline.end_line();
                }
            }
            "table-cell" => {
                in_cell = in_cell.saturating_sub(1);
                outline.push("\t");
            }
            "table-row" => outline.end_line(),
            _ => {}
        },
        Step::Text(text) if depth > 0 && !is_deleted => outline.push(text),
        Step::Text(_) => {}
    })?;
    Ok(outline.end())
}
