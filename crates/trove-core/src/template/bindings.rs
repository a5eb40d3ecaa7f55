//! The values of a template's variables, by name.

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// One value.
    Text(String),
    /// The values of an exploded variable. An empty list counts as no value.
    List(Vec<String>),
}

impl std::fmt::Display for Binding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Binding::Text(text) => f.write_str(text),
            Binding::List(list) => f.write_str(&list.join(",")),
        }
    }
}

impl From<&str> for Binding {
    fn from(text: &str) -> Self {
        Binding::Text(text.to_owned())
    }
}

impl From<String> for Binding {
    fn from(text: String) -> Self {
        Binding::Text(text)
    }
}

impl From<Vec<String>> for Binding {
    fn from(list: Vec<String>) -> Self {
        Binding::List(list)
    }
}

/// Decoded values by variable name, in the order they were bound.
///
/// Lookups scan: a template has at most [`super::MAX_VARIABLES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings(Vec<(String, Binding)>);

impl Bindings {
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of the variable.
    pub fn get(&self, name: &str) -> Option<&Binding> {
        self.0.iter().find(|(bound, _)| bound == name).map(|(_, value)| value)
    }

    /// The value of the variable, if it is one text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Binding::Text(text) => Some(text),
            Binding::List(_) => None,
        }
    }

    /// Gives the variable a value in place of any it had.
    pub fn bind(&mut self, name: impl Into<String>, value: impl Into<Binding>) {
        let (name, value) = (name.into(), value.into());
        match self.get_mut(&name) {
            Some(bound) => *bound = value,
            None => self.0.push((name, value)),
        }
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Binding> {
        self.0.iter_mut().find(|(bound, _)| bound == name).map(|(_, value)| value)
    }

    /// All names with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Binding)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The values that say something, and the names that `uri` gives an empty value, e.g. `q` in
    /// `find://notes?q=`.
    pub fn without_empty(&self, uri: &str) -> (Bindings, Vec<String>) {
        let mut given = Bindings::new();
        let mut empty = Vec::new();
        for (name, value) in self.iter() {
            let is_empty = matches!(value, Binding::Text(text) if text.is_empty());
            if is_empty && uri.contains(&format!("{name}=")) {
                empty.push(name.to_owned());
            } else {
                given.bind(name, value.clone());
            }
        }
        (given, empty)
    }

    /// Whether there is no value at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>, V: Into<Binding>> FromIterator<(N, V)> for Bindings {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        let mut bindings = Bindings::new();
        for (name, value) in values {
            bindings.bind(name, value);
        }
        bindings
    }
}
