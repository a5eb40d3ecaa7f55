//! E-books: the chapters of an EPUB in the order in which they are read.

use std::collections::HashMap;

use crate::{
    Parts,
    archive::{Archive, place},
    html,
    markup::{Step, walk},
};

/// The text of an e-book.
pub(crate) fn parts(archive: &mut Archive<'_>) -> Result<Parts, String> {
    let mut package = None;
    walk(&archive.needed("META-INF/container.xml")?, |step| {
        if let Step::Begin(element) = step
            && element.name == "rootfile"
            && package.is_none()
        {
            package = element.attribute("full-path");
        }
    })?;
    let package = package.ok_or("it does not say where its chapters are")?;
    let chapters = spine(&package, &archive.needed(&package)?)?;
    if chapters.is_empty() {
        return Err("it has no chapters".to_owned());
    }
    let mut parts = Parts::of("chapter");
    for chapter in chapters {
        if !parts.has_room() {
            parts.leave_out();
            continue;
        }
        match archive.text(&chapter)? {
            Some(page) => {
                let (title, text) = html::outline_of(&page).joined();
                let is_empty = title.is_empty() && text.trim().is_empty();
                parts.add(&title, &text, if is_empty { "this chapter has no text" } else { "" });
            }
            None => parts.add("", "", "this chapter is missing in the file"),
        }
    }
    Ok(parts)
}

/// Where the chapters lie in the archive, in the order in which they are read.
fn spine(package: &str, xml: &str) -> Result<Vec<String>, String> {
    let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (mut files, mut order) = (HashMap::new(), Vec::new());
    walk(xml, |step| {
        let Step::Begin(element) = step else { return };
        if element.name == "item"
            && let Some(id) = element.attribute("id")
            && let Some(file) = element.attribute("href")
        {
            files.insert(id, place(folder, &decoded(&file)));
        }
        if element.name == "itemref" {
            order.extend(element.attribute("idref"));
        }
    })?;
    Ok(order.iter().filter_map(|id| files.get(id).cloned()).collect())
}

/// A name without percent-encoding; a `%` that encodes nothing stays.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code {
            Some(code) if byte == b'%' => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
