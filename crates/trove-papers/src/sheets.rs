//! Workbooks of Excel and OpenDocument: each sheet as lines of values with tabs between them.

use time::{Date, Duration, Month, PrimitiveDateTime, Time};

use crate::{
    CUT, MAX_TEXT, Parts,
    archive::Archive,
    markup::{Element, Step, walk},
};

/// The most empty cells that one row keeps between two values.
const MAX_GAP: usize = 64;
/// How often a row or a cell that repeats is written down.
const MAX_REPEATED: usize = 64;
const EMPTY: &str = "this sheet is empty";
const SECONDS_OF_DAY: f64 = 86_400.0;

/// The rows of a sheet as they are gathered.
#[derive(Default)]
struct Table {
    text: String,
    row: String,
    /// How many columns of the row are written.
    written: usize,
    /// There was no room for all of it.
    is_cut: bool,
}

impl Table {
    /// Puts a value into a column of the row at hand.
    fn put(&mut self, column: usize, value: &str) {
        if value.is_empty() {
            return;
        }
        if !self.has_room() {
            self.is_cut = true;
            return;
        }
        let gap = column.saturating_sub(self.written).min(MAX_GAP);
        self.row.push_str(&"\t".repeat(gap));
        for letter in value.trim().chars() {
            self.row.push(if letter.is_control() { ' ' } else { letter });
        }
        self.written = column;
    }

    fn end_row(&mut self, times: usize) {
        let row = std::mem::take(&mut self.row);
        self.written = 0;
        if row.trim().is_empty() {
            return;
        }
        for _ in 0..times.min(MAX_REPEATED) {
            self.text.push_str(&row);
            self.text.push('\n');
        }
    }

    fn has_room(&self) -> bool {
        self.text.len() + self.row.len() < MAX_TEXT
    }

    /// Ends the sheet and adds it to the others.
    fn end(&mut self, parts: &mut Parts, name: &str) {
        self.end_row(1);
        let table = std::mem::take(self);
        let note = if table.is_cut {
            CUT
        } else if table.text.is_empty() {
            EMPTY
        } else {
            ""
        };
        parts.add(name, &table.text, note);
    }
}

/// A workbook of Excel.
pub(crate) fn excel(archive: &mut Archive<'_>) -> Result<Parts, String> {
    let relations = archive.relations("xl/workbook.xml")?;
    let (mut sheets, mut counts_from_1904) = (Vec::new(), false);
    walk(&archive.needed("xl/workbook.xml")?, |step| {
        let Step::Begin(element) = step else { return };
        if element.name == "workbookPr" {
            let says = element.attribute("date1904");
            counts_from_1904 = matches!(says.as_deref(), Some("1" | "true"));
        }
        if element.name == "sheet" {
            let name = element.attribute("name").unwrap_or_default();
            sheets.push((name, element.reference(&relations)));
        }
    })?;
    let book = Book {
        strings: shared_strings(&archive.text("xl/sharedStrings.xml")?.unwrap_or_default())?,
        dates: date_styles(&archive.text("xl/styles.xml")?.unwrap_or_default())?,
        first_day: if counts_from_1904 {
            (1904, Month::January, 1)
        } else {
            (1899, Month::December, 30)
        },
    };
    let mut parts = Parts::of("sheet");
    for (name, file) in sheets {
        if !parts.has_room() {
            parts.leave_out();
            continue;
        }
        let xml = match file {
            Some(file) => archive.text(&file)?,
            None => None,
        };
        match xml {
            Some(xml) => sheet(&xml, &book)?.end(&mut parts, &name),
            None => parts.add(&name, "", "this sheet is missing in the file"),
        }
    }
    Ok(parts)
}

/// Everything that the cells of a workbook refer to.
struct Book {
    strings: Vec<String>,
    /// Whether cells of each style hold dates.
    dates: Vec<bool>,
    /// The day that dates are counted from.
    first_day: (i32, Month, u8),
}

/// A cell of Excel as it is read.
#[derive(Default)]
struct Cell {
    column: usize,
    form: String,
    is_date: bool,
    value: String,
}

fn sheet(xml: &str, book: &Book) -> Result<Table, String> {
    let (mut table, mut cell) = (Table::default(), Cell::default());
    let (mut column, mut is_value) = (0, false);
    walk(xml, |step| match step {
        Step::Begin(element) => match element.name {
            "row" => column = 0,
            "c" => {
                let place = element.attribute("r");
                column = place.and_then(|place| column_of(&place)).unwrap_or(column);
                cell = Cell {
                    column,
                    form: element.attribute("t").unwrap_or_default(),
                    is_date: element
                        .number("s")
                        .is_some_and(|at| book.dates.get(at) == Some(&true)),
                    value: String::new(),
                };
            }
            "v" | "t" => is_value = true,
            _ => {}
        },
        Step::End(name) => match name {
            "v" | "t" => is_value = false,
            "c" => {
                table.put(cell.column, &shown(&cell, book));
                column += 1;
            }
            "row" => table.end_row(1),
            _ => {}
        },
        Step::Text(text) if is_value => cell.value.push_str(text),
        Step::Text(_) => {}
    })?;
    Ok(table)
}

/// The column that a place such as `AB12` names, counted from zero.
fn column_of(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase).take(3);
    let number = letters.fold(0, |sum, letter| sum * 26 + usize::from(letter - b'A') + 1);
    number.checked_sub(1)
}

/// The value of a cell as people see it.
fn shown(cell: &Cell, book: &Book) -> String {
    match cell.form.as_str() {
        "s" => {
            let at: Option<usize> = cell.value.trim().parse().ok();
            let text = at.and_then(|at| book.strings.get(at));
            text.cloned().unwrap_or_default()
        }
        "b" => if cell.value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
        "" | "n" => match cell.value.trim().parse::<f64>() {
            Ok(number) if cell.is_date => date(number, book.first_day),
            Ok(number) => number.to_string(),
            Err(_) => cell.value.clone(),
        },
        _ => cell.value.clone(),
    }
}

/// The day and the time that a number of days means.
fn date(days: f64, first_day: (i32, Month, u8)) -> String {
    let (year, month, day) = first_day;
    let first = Date::from_calendar_date(year, month, day)
        .map(|day| PrimitiveDateTime::new(day, Time::MIDNIGHT));
    let seconds = (days * SECONDS_OF_DAY).round();
    let is_possible = seconds.is_finite() && seconds.abs() < 1e12;
    let moment = match first {
        Ok(first) if is_possible => first.checked_add(Duration::seconds(seconds as i64)),
        _ => None,
    };
    let Some(moment) = moment else { return days.to_string() };
    let (hour, minute, second) = moment.as_hms();
    let clock = format!("{hour:02}:{minute:02}:{second:02}");
    if (0.0..1.0).contains(&days) {
        return clock;
    }
    if moment.time() == Time::MIDNIGHT {
        moment.date().to_string()
    } else {
        format!("{} {clock}", moment.date())
    }
}

fn shared_strings(xml: &str) -> Result<Vec<String>, String> {
    let (mut strings, mut text) = (Vec::new(), String::new());
    let (mut is_text, mut is_sound) = (false, false);
    walk(xml, |step| match step {
        Step::Begin(element) => match element.name {
            "t" => is_text = true,
            // How a word sounds stands beside it.
            "rPh" => is_sound = true,
            _ => {}
        },
        Step::End(name) => match name {
            "t" => is_text = false,
            "rPh" => is_sound = false,
            "si" => strings.push(std::mem::take(&mut text)),
            _ => {}
        },
        Step::Text(words) if is_text && !is_sound => text.push_str(words),
        Step::Text(_) => {}
    })?;
    Ok(strings)
}

/// Whether cells of each style hold dates.
fn date_styles(xml: &str) -> Result<Vec<bool>, String> {
    let (mut own, mut styles, mut is_of_cells) = (Vec::new(), Vec::new(), false);
    walk(xml, |step| match step {
        Step::Begin(element) => match element.name {
            "numFmt" => {
                let code = element.attribute("formatCode").unwrap_or_default();
                own.push((element.number("numFmtId"), is_date_format(&code)));
            }
            "cellXfs" => is_of_cells = true,
            "xf" if is_of_cells => {
                let id = element.number("numFmtId");
                let is_known =
                    id.is_some_and(|id| matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58));
                let is_own = own.iter().any(|(known, is_date)| *known == id && *is_date);
                styles.push(is_known || is_own);
            }
            _ => {}
        },
        Step::End("cellXfs") => is_of_cells = false,
        Step::End(_) | Step::Text(_) => {}
    })?;
    Ok(styles)
}

/// Whether a format shows a number as a date or a time.
fn is_date_format(code: &str) -> bool {
    let (mut is_quoted, mut is_bracketed) = (false, false);
    let mut letters = code.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '[' if !is_quoted => is_bracketed = true,
            ']' if !is_quoted => is_bracketed = false,
            '\\' | '_' | '*' => {
                letters.next();
            }
            'y' | 'm' | 'd' | 'h' | 's' | 'Y' | 'M' | 'D' | 'H' | 'S'
                if !is_quoted && !is_bracketed =>
            {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// A workbook of OpenDocument.
pub(crate) fn open_sheets(archive: &mut Archive<'_>) -> Result<Parts, String> {
    let xml = archive.needed("content.xml")?;
    let mut parts = Parts::of("sheet");
    let (mut table, mut name, mut value) = (Table::default(), String::new(), String::new());
    let (mut column, mut columns, mut rows) = (0_usize, 1, 1);
    let mut is_text = false;
    let times = |element: &Element<'_>, of: &str| element.number(of).unwrap_or(1).max(1);
    walk(&xml, |step| match step {
        Step::Begin(element) => match element.name {
            "table" => name = element.attribute("name").unwrap_or_default(),
            "table-row" => (column, rows) = (0, times(element, "number-rows-repeated")),
            "table-cell" | "covered-table-cell" => {
                value.clear();
                columns = times(element, "number-columns-repeated");
            }
            "p" => {
                is_text = true;
                if !value.is_empty() {
                    value.push(' ');
                }
            }
            "s" | "tab" | "line-break" if is_text => value.push(' '),
            _ => {}
        },
        Step::End(name_of) => match name_of {
            "p" => is_text = false,
            "table-cell" | "covered-table-cell" => {
                if !value.is_empty() {
                    for at in 0..columns.min(MAX_REPEATED) {
                        table.put(column.saturating_add(at), &value);
                    }
                }
                column = column.saturating_add(columns);
            }
            "table-row" => table.end_row(rows),
            "table" => table.end(&mut parts, &name),
            _ => {}
        },
        Step::Text(text) if is_text => value.push_str(text),
        Step::Text(_) => {}
    })?;
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_days_is_shown_as_the_date_it_means() {
        let check = |days: f64, shown: &str| {
            assert_eq!(date(days, (1899, Month::December, 30)), shown);
        };
        check(45_000.0, "2023-03-15");
        check(45_000.5, "2023-03-15 12:00:00");
        check(0.25, "06:00:00");
        check(1e300, &1e300_f64.to_string());
        assert_eq!(date(0.0, (1904, Month::January, 1)), "00:00:00");
        assert_eq!(date(1.0, (1904, Month::January, 1)), "1904-01-02");
    }

    #[test]
    fn a_format_is_one_of_dates_by_its_letters_outside_of_quotes() {
        for code in ["yyyy-mm-dd", "[$-409]d/m/yy", "h:mm"] {
            assert!(is_date_format(code), "{code}");
        }
        for code in ["0.00", "#,##0 \"days\"", "[Red]0", "0\\d", "General"] {
            assert!(!is_date_format(code), "{code}");
        }
    }

    #[test]
    fn a_column_is_known_by_its_letters() {
        assert_eq!(column_of("A1"), Some(0));
        assert_eq!(column_of("AB12"), Some(27));
        assert_eq!(column_of("12"), None);
    }
}
