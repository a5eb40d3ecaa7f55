//! Mail: who wrote to whom, the text, the mails within, and the names of what is attached.

use mail_parser::{Address, Message, MessageParser, MimeHeaders as _, PartType};

use crate::{Parts, html};

/// How deep mails are followed in one another.
const MAX_DEPTH: usize = 4;

pub(crate) fn parts(bytes: &[u8]) -> Result<Parts, String> {
    let message =
        MessageParser::default().parse(bytes).ok_or("it is no mail: it has no headers")?;
    let mut parts = Parts::of("section");
    add(&mut parts, &message, 0);
    Ok(parts)
}

fn add(parts: &mut Parts, message: &Message<'_>, depth: usize) {
    let mut text = String::new();
    for (name, who) in [("From", message.from()), ("To", message.to()), ("Cc", message.cc())] {
        let who = people(who);
        if !who.is_empty() {
            text.push_str(&format!("{name}: {who}\n"));
        }
    }
    if let Some(date) = message.date() {
        text.push_str(&format!("Date: {}\n", date.to_rfc3339()));
    }
    text.push('\n');
    text.push_str(body(message).trim());
    text.push('\n');
    for attached in message.attachments() {
        if matches!(attached.body, PartType::Message(_)) {
            continue;
        }
        let name = attached.attachment_name().unwrap_or("without a name");
        text.push_str(&format!("\nAttached: {name} ({} bytes)", attached.len()));
    }
    parts.add(message.subject().unwrap_or_default(), &text, "");
    if depth == MAX_DEPTH {
        return;
    }
    for attached in message.attachments() {
        if let PartType::Message(inner) = &attached.body {
            add(parts, inner, depth + 1);
        }
    }
}

/// The text of a mail: as it was written, else what its HTML shows.
fn body(message: &Message<'_>) -> String {
    let mut text = String::new();
    for id in &message.text_body {
        let Some(part) = message.part(*id) else { continue };
        match &part.body {
            PartType::Text(plain) => text.push_str(plain),
            PartType::Html(page) => {
                let (title, rest) = html::outline_of(page).joined();
                text.push_str(&format!("{title}\n{rest}"));
            }
            _ => {}
        }
        text.push('\n');
    }
    text
}

fn people(who: Option<&Address<'_>>) -> String {
    let Some(who) = who else { return String::new() };
    let mut all = Vec::new();
    for one in who.iter() {
        let address = one.address.as_deref().unwrap_or_default();
        match one.name.as_deref() {
            Some(name) if address.is_empty() => all.push(name.to_owned()),
            Some(name) => all.push(format!("{name} <{address}>")),
            None => all.push(address.to_owned()),
        }
    }
    all.join(", ")
}
