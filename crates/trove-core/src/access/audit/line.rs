//! An entry as a line of JSON.

use std::time::SystemTime;

use aws_lc_rs::digest::{SHA256, digest};
use bytes::Bytes;
use serde::Serialize;

use super::{Cache, Entry};
use crate::{failure::Class, hex::hex};

/// The longest target that is written whole.
pub(super) const MAX_TARGET_BYTES: usize = 4096;
/// The longest name of a client or a person that is written whole.
pub(super) const MAX_NAME_BYTES: usize = 256;

/// The members of a line, in order; those without a value are left out.
#[derive(Serialize)]
struct Line<'a> {
    at: &'a str,
    door: &'a str,
    via: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    action: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    target_cut: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
    #[serde(skip_serializing_if = "is_one")]
    times: u64,
}

/// A line that stands for entries that were not written.
#[derive(Serialize)]
struct Gap<'a> {
    at: &'a str,
    event: &'a str,
    entries: u64,
}

fn is_false(is_so: &bool) -> bool {
    !is_so
}

fn is_one(times: &u64) -> bool {
    *times == 1
}

/// Writes an entry; `given` is what it says was given, if it may be digested, and `bytes`
/// its length in any case.
pub(super) fn write(entry: &Entry, bytes: Option<usize>, given: Option<&Bytes>, out: &mut Vec<u8>) {
    let at = timestamp(entry.at);
    let target = entry.target.as_deref().map(|target| cut(target, MAX_TARGET_BYTES));
    let is_cut = target.map(str::len) != entry.target.as_ref().map(String::len);
    let (outcome, class) = entry.outcome.told();
    let line = Line {
        at: &at,
        door: entry.door,
        via: entry.via.as_str(),
        client: entry.client.as_deref().map(|name| cut(name, MAX_NAME_BYTES)),
        principal: entry.principal.as_deref().map(|name| cut(name, MAX_NAME_BYTES)),
        action: entry.action,
        target,
        target_cut: is_cut,
        source: entry.source.as_ref().map(|source| source.as_str()),
        outcome,
        error: class.map(Class::as_str),
        bytes,
        sha256: given.map(|given| hex(digest(&SHA256, given).as_ref())),
        cache: entry.cache.map(Cache::as_str),
        ms: entry.took.map(|took| (took.as_secs_f64() * 1e6).round() / 1e3),
        times: entry.times,
    };
    put(&line, out);
}

/// Writes that entries are missing here.
pub(super) fn write_gap(at: SystemTime, entries: u64, out: &mut Vec<u8>) {
    put(&Gap { at: &timestamp(at), event: "dropped", entries }, out);
}

fn put(line: &impl Serialize, out: &mut Vec<u8>) {
    let before = out.len();
    match serde_json::to_writer(&mut *out, line) {
        Ok(()) => out.push(b'\n'),
        // Strings and numbers cannot fail; half a line would be worse than none.
        Err(_) => out.truncate(before),
    }
}

/// UTC to the millisecond, e.g. `2026-07-28T09:05:00.250Z`: of one length, so that lines sort by
/// it. A clock that is before 1970 counts as 1970.
fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = date(since.as_secs() / 86_400);
    let second = since.as_secs() % 86_400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let milli = u64::from(since.subsec_millis());
    let mut text = String::with_capacity(24);
    let parts = [year, month, day, hour, minute, second, milli];
    let (digits, ends) = ([4, 2, 2, 2, 2, 2, 3], ['-', '-', 'T', ':', ':', '.', 'Z']);
    for ((part, digits), end) in parts.into_iter().zip(digits).zip(ends) {
        push_digits(&mut text, part, digits);
        text.push(end);
    }
    text
}

/// The last so many decimal digits of a number, e.g. `007`. A line is written for every request,
/// and formatting would take longer than all the rest of it.
fn push_digits(text: &mut String, number: u64, digits: u32) {
    for place in (0..digits).rev() {
        text.push(char::from(b'0' + (number / 10_u64.pow(place) % 10) as u8));
    }
}

/// The date of a day counted from 1970-01-01, e.g. day 31 is 1970-02-01. Years begin in March here,
/// so that the leap day comes last and months follow one rule.
fn date(day: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let day = day + DAYS_TO_1970;
    let (cycle, day) = (day / DAYS_OF_400_YEARS, day % DAYS_OF_400_YEARS);
    // Without the leap days of every 4, 100 and 400 years each year has 365 days.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (cycle * 400 + year + next, month, day)
}

fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

impl Cache {
    pub fn as_str(self) -> &'static str {
        match self {
            Cache::Hit => "hit",
            Cache::Miss => "miss",
            Cache::Stale => "stale",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for number in 0..200_000 {
            assert_eq!(date(number), (year, month, day));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let days = match month {
                2 => 28 + u64::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > days {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }
}
