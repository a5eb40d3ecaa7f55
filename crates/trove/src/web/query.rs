//! The part of an address behind the `?`.

/// Names and values, decoded, in order.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

/// The most values that are looked at.
const MAX_VALUES: usize = 64;

impl Query {
    pub(super) fn of(uri: &axum::http::Uri) -> Query {
        let text = uri.query().unwrap_or_default();
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(MAX_VALUES);
        Query(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(name), decode(value))
                })
                .collect(),
        )
    }

    /// The first value of that name that is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let own = self.0.iter().find(|(key, value)| key == name && !value.is_empty());
        own.map(|(_, value)| value.as_str())
    }

    /// Every value of that name that is not empty.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.0.iter().filter(move |(key, value)| key == name && !value.is_empty());
        own.map(|(_, value)| value.as_str())
    }

    /// A number, or what stands for it.
    pub(super) fn number(&self, name: &str, otherwise: usize) -> usize {
        self.get(name).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    }
}

/// Decodes a value as forms and `URLSearchParams` write it, e.g. `a+b%2F` to `a b/`.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let two: Vec<u8> = rest.clone().take(2).collect();
                let hex = std::str::from_utf8(&two).ok().filter(|two| two.len() == 2);
                match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                    Some(byte) => {
                        bytes.push(byte);
                        rest.nth(1);
                    }
                    None => bytes.push(b'%'),
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_empty_ones_are_absent() {
        let uri = "/x?q=a+b%2Bc%20%C3%A9&server=one&server=two&none=&odd=%zz%4&n=7";
        let query = Query::of(&uri.parse().unwrap());
        assert_eq!(query.get("q"), Some("a b+c é"));
        assert_eq!(query.all("server").collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(query.get("none"), None);
        assert_eq!(query.get("odd"), Some("%zz%4"));
        assert_eq!((query.number("n", 1), query.number("m", 1)), (7, 1));
    }
}
