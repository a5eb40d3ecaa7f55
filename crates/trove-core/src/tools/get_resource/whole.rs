//! A resource as it is, for a program: no envelope, nothing cut.

use std::borrow::Cow;

use super::{Format, GetResource, contents::Form};
use crate::{
    content::contents,
    gateway::Wanted,
    json::Json,
    tools::{Call, Class, Failure},
};

/// From so many bytes on a result is taken apart aside, where no other caller waits for it.
const LARGE: usize = 64 * 1024;

/// All of a resource; several contents one after another.
pub(in crate::tools) enum Whole {
    /// All of it is text.
    Text(String),
    /// Some of it is not.
    Bytes(Vec<u8>),
}

/// Reads a resource by its URI, as [`GetResource`] does.
pub(in crate::tools) async fn whole(
    call: &Call<'_>,
    uri: &str,
    server: Option<String>,
) -> Result<Whole, Failure> {
    let asked = GetResource {
        uri: uri.to_owned(),
        server: super::given(server),
        format: Format::Auto,
        max_size: None,
        offset: 0,
        grep: None,
        cursor: None,
        page: None,
    };
    let (_, reading) = asked.ask(call).await?;
    if reading.reply.needs_input {
        let action = "Read it with get_resource, which can pass the question on.";
        return Err(Failure::new(
            Class::ConsentRequired,
            format!("{} asks a question before it gives this.", reading.source),
            action,
        ));
    }
    let wanted = Wanted { written: false, ..Wanted::for_caller() };
    let body = match call.gateway.with_texts(&reading.reply.body, &wanted).await {
        Ok(Some(texts)) => texts.body,
        Ok(None) | Err(_) => reading.reply.body,
    };
    // A large answer takes a while, in which others want to be served.
    if body.as_bytes().len() <= LARGE {
        return Ok(contents_of(&body));
    }
    tokio::task::spawn_blocking(move || contents_of(&body)).await.map_err(|_| {
        let action = "Read it with get_resource to see what the server wrote.";
        let message = format!("What {} gave could not be put together.", reading.source);
        Failure::new(Class::InternalError, message, action)
    })
}

fn contents_of(body: &Json) -> Whole {
    let contents = contents(body);
    let forms: Vec<Form<'_>> = contents.iter().map(|one| one.form(Format::Auto, false)).collect();
    joined(&forms)
}

fn joined(forms: &[Form<'_>]) -> Whole {
    if let Some(texts) = forms.iter().map(text_of).collect::<Option<Vec<_>>>() {
        return Whole::Text(texts.concat());
    }
    let bytes = forms.iter().map(|form| match form {
        Form::Text(text) => Cow::Owned(text.words.text().into_owned().into_bytes()),
        Form::Bytes(bytes) => Cow::Borrowed(bytes.as_ref()),
        Form::Described(bytes, _) => Cow::Borrowed(*bytes),
    });
    Whole::Bytes(bytes.collect::<Vec<Cow<'_, [u8]>>>().concat())
}

fn text_of<'a>(form: &'a Form<'_>) -> Option<Cow<'a, str>> {
    match form {
        Form::Text(text) => Some(text.words.text()),
        Form::Bytes(_) | Form::Described(..) => None,
    }
}
