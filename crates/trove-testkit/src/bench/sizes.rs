//! The sizes of the resources, and the URIs that name them.

use clap::ValueEnum;

/// How large a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Size {
    #[value(name = "1k")]
    K1,
    #[value(name = "128k")]
    K128,
    #[value(name = "1m")]
    M1,
    #[value(name = "16m")]
    M16,
}

impl Size {
    pub(super) const ALL: [Size; 4] = [Size::K1, Size::K128, Size::M1, Size::M16];

    /// The bytes of the resource itself, before any encoding.
    pub(super) fn bytes(self) -> usize {
        match self {
            Size::K1 => 1 << 10,
            Size::K128 => 128 << 10,
            Size::M1 => 1 << 20,
            Size::M16 => 16 << 20,
        }
    }

    /// The large ones are binary, as large resources usually are.
    pub(super) fn is_binary(self) -> bool {
        matches!(self, Size::M1 | Size::M16)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Size::K1 => "1k",
            Size::K128 => "128k",
            Size::M1 => "1m",
            Size::M16 => "16m",
        }
    }

    fn of_name(name: &str) -> Option<Size> {
        Size::ALL.into_iter().find(|size| size.name() == name)
    }

    /// The size of the resource at this place of the list: one of each large size, then
    /// small ones only.
    pub(super) fn at(place: usize) -> Size {
        match place {
            0 => Size::K128,
            1 => Size::M1,
            2 => Size::M16,
            _ => Size::K1,
        }
    }

    /// The places of resources of this size in a list that long.
    pub(super) fn places(self, listed: usize) -> Vec<usize> {
        (0..listed).filter(|&place| Size::at(place) == self).collect()
    }
}

/// The URI of the resource at a place of the list.
pub(super) fn uri(scheme: &str, place: usize) -> String {
    format!("{scheme}://{}/{place:07}", Size::at(place).name())
}

/// The size and place that a URI names.
pub(super) fn parse(scheme: &str, uri: &str) -> Option<(Size, usize)> {
    let (size, place) = uri.strip_prefix(scheme)?.strip_prefix("://")?.split_once('/')?;
    let (size, place) = (Size::of_name(size)?, place.parse().ok()?);
    (Size::at(place) == size).then_some((size, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_leads_back_to_its_place() {
        for place in 0..10 {
            assert_eq!(parse("b", &uri("b", place)), Some((Size::at(place), place)));
        }
        for other in ["b://1k/0000000", "b://2k/0000009", "c://1k/0000009", "b://slow/100"] {
            assert_eq!(parse("b", other), None, "{other}");
        }
    }
}
