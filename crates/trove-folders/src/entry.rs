//! How files and folders are listed.

use std::os::unix::ffi::OsStrExt as _;

use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use trove_core::{
    SourceId,
    content::mime_of_name,
    json::{Json, Writer},
    resource::Resource,
    uri::MAX_URI_BYTES,
};

use crate::{
    names::{self, as_path},
    read::Stamp,
};

/// The MIME type of a folder.
pub(crate) const DIRECTORY: &str = "inode/directory";
/// How much longer an entry is than its URI and name, about.
const REST_OF_ENTRY: usize = 160;

/// The URI of a file at `path` below a root, e.g. `file:///docs/a%20b.md` for `a b.md`.
pub(crate) fn uri_of(root: &str, path: &[u8]) -> String {
    let mut uri = String::with_capacity(root.len() + path.len() + 16);
    uri.push_str(root);
    names::encode(path, &mut uri);
    uri
}

/// The entry of a file; `None` where its URI would be longer than any that is listed.
pub(crate) fn of_file(root: &str, path: &[u8], stamp: &Stamp) -> Option<Resource> {
    let uri = uri_of(root, path);
    if uri.len() > MAX_URI_BYTES {
        return None;
    }
    let name = String::from_utf8_lossy(path);
    let mut entry = Writer::with_capacity(uri.len() + name.len() + REST_OF_ENTRY);
    entry.text("uri", &uri);
    entry.text("name", &name);
    if let Some(mime) = mime_of(path) {
        entry.text("mimeType", mime);
    }
    entry.number("size", stamp.size);
    if let Some(modified) = moment(stamp.modified) {
        entry.open("annotations");
        entry.text("lastModified", &modified);
        entry.close();
    }
    let entry = Json::parse(entry.finish()).ok()?;
    Some(Resource::own(uri, entry))
}

/// The entry of the root, which stands for all that lies below it.
pub(crate) fn of_root(root: &str, id: &SourceId) -> Json {
    let mut entry = Writer::with_capacity(root.len() + REST_OF_ENTRY);
    entry.text("uri", root);
    entry.text("name", id.as_str());
    entry.text("description", "What lies in this folder, by URI");
    entry.text("mimeType", DIRECTORY);
    Json::parse(entry.finish()).unwrap_or_else(|_| Json::empty_object())
}

/// The entry of a folder.
pub(crate) fn of_folder(root: &str, path: &[u8]) -> Json {
    let mut entry = Writer::with_capacity(root.len() + REST_OF_ENTRY);
    entry.text("uri", &uri_of(root, path));
    entry.text("name", &String::from_utf8_lossy(names::split(path).1));
    entry.text("mimeType", DIRECTORY);
    Json::parse(entry.finish()).unwrap_or_else(|_| Json::empty_object())
}

/// The type that the name of a file suggests, e.g. `text/markdown` for `a.md`.
pub(crate) fn mime_of(path: &[u8]) -> Option<&'static str> {
    let name = as_path(names::split(path).1);
    mime_of_name(&String::from_utf8_lossy(name.as_os_str().as_bytes()))
}

fn moment((seconds, nanos): (i64, i64)) -> Option<String> {
    let moment = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
    let moment = moment.replace_nanosecond(u32::try_from(nanos).ok()?).ok()?;
    moment.format(&Rfc3339).ok()
}
