//! Dates as arguments: a day, a moment, or a range of either.

use time::{
    Date, OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description,
};

use super::Failure;

const DAY: i64 = 24 * 60 * 60;

/// Between which seconds since 1970 something must have changed; open where `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Between {
    pub(super) after: Option<i64>,
    pub(super) before: Option<i64>,
}

impl Between {
    /// The time between `after` and `before`. The last day counts.
    pub(super) fn ends(after: Option<&str>, before: Option<&str>) -> Result<Between, Failure> {
        let after = bound("after", after, moment_or_begin)?;
        let before = bound("before", before, moment_or_end)?;
        Ok(Between { after, before })
    }

    /// The time of a range, e.g. `2026-01-01/2026-01-31`, or of one day. One of the two dates may
    /// be missing or `..`.
    pub(super) fn range(text: &str) -> Result<Between, Failure> {
        let (after, before) = text.split_once('/').unwrap_or((text, text));
        let of_range = |end: &str| Some(end.trim()).filter(|end| *end != "..").map(str::to_owned);
        let (after, before) = (of_range(after), of_range(before));
        let after = bound(RANGE, after.as_deref(), moment_or_begin)?;
        let before = bound(RANGE, before.as_deref(), moment_or_end)?;
        Ok(Between { after, before })
    }

    /// Whether it leaves anything out.
    pub(super) fn is_bounded(self) -> bool {
        self.after.is_some() || self.before.is_some()
    }
}

/// The argument that holds a range.
pub(super) const RANGE: &str = "dateRange";

fn bound(
    field: &str,
    text: Option<&str>,
    read: impl Fn(&str) -> Option<i64>,
) -> Result<Option<i64>, Failure> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    match read(text) {
        Some(seconds) => Ok(Some(seconds)),
        None => Err(misspelt(field)),
    }
}

fn misspelt(field: &str) -> Failure {
    let form = if field == RANGE {
        "a range such as `2026-11-01/2026-11-30`, `2026-11-01/..` or `../2026-11-30`, or an object with `after` and `before`"
    } else {
        "a date such as `2026-11-01` or `2026-11-01T08:00:00Z`"
    };
    Failure::arguments(format!("`{field}` must be {form}")).with("field", field)
}

fn moment_or_begin(text: &str) -> Option<i64> {
    moment(text).or_else(|| day(text))
}

fn moment_or_end(text: &str) -> Option<i64> {
    moment(text).or_else(|| Some(day(text)? + DAY - 1))
}

fn moment(text: &str) -> Option<i64> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
}

/// The first second of a day, e.g. of `2026-01-31`.
fn day(text: &str) -> Option<i64> {
    let day = Date::parse(text, format_description!("[year]-[month]-[day]")).ok()?;
    Some(day.midnight().assume_utc().unix_timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOVEMBER_1: i64 = 1_793_491_200;

    #[track_caller]
    fn check(text: &str, after: Option<i64>, before: Option<i64>) {
        assert_eq!(Between::range(text).unwrap(), Between { after, before }, "{text}");
    }

    #[test]
    fn a_range_may_be_open_at_either_end_and_its_last_day_counts() {
        let first_day = Some(NOVEMBER_1);
        let end_of_second = Some(NOVEMBER_1 + 2 * DAY - 1);
        check("2026-11-01/2026-11-02", first_day, end_of_second);
        check(" 2026-11-01 / .. ", first_day, None);
        check("../2026-11-02", None, end_of_second);
        check("2026-11-01/", first_day, None);
        check("2026-11-01", first_day, Some(NOVEMBER_1 + DAY - 1));
        check("2026-11-01T00:00:00Z/2026-11-01T00:00:05Z", first_day, Some(NOVEMBER_1 + 5));
        check("", None, None);
        for wrong in ["yesterday", "2026-11-01/soon", "2026-11-01/2026-11-02/2026-11-03", "now/.."]
        {
            let failure = Between::range(wrong).unwrap_err();
            assert_eq!(failure.field(), Some(RANGE), "{wrong}");
        }
    }
}
