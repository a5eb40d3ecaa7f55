//! Documents of real producers, damaged ones and hostile ones, without the process around them.

use std::{
    fs,
    io::{Cursor, Write as _},
    path::Path,
};

use zip::{ZipWriter, write::SimpleFileOptions};

use super::*;
use crate::worker::{Said, answer};

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
    fs::read(path).expect("the file is there")
}

/// The text of a file as a model reads it, or why there is none.
fn shown(form: PaperForm, bytes: &[u8]) -> Result<String, String> {
    match answer(form, bytes) {
        Said::Text { place, parts, total } => {
            Ok(Said::text(&place, parts, total).expect("the place is known").markdown())
        }
        Said::Unreadable(why) | Said::Unready(why) => Err(why),
    }
}

#[track_caller]
fn check(form: PaperForm, name: &str, expected: &str) {
    assert_eq!(shown(form, &file(name)).as_deref(), Ok(expected), "{name}");
}

#[track_caller]
fn check_refused(form: PaperForm, bytes: &[u8], why: &str) {
    let said = shown(form, bytes);
    assert!(said.as_ref().is_err_and(|said| said.contains(why)), "{said:?}");
}

#[test]
fn a_pdf_is_read_page_by_page() {
    let report = "## page 1\n\nAnnual report of the walruses\n\
        The walrus keeps its ledger of clams in a barnacled notebook, and whoever wants to know how\n\
        many were eaten in spring must ask the oldest of the herd, who counts on both flippers.\n\n\
        ## page 2\n\nRésumé\nOn the second page the walrus sleeps — for “eleven” hours.\n\n\
        ## page 3\n\n\n(this page is a picture: it has no text)\n";
    check(PaperForm::Pdf, "report.pdf", report);
    // Only its owner may change it; everybody may read it.
    check(PaperForm::Pdf, "signed.pdf", report);
    let browser = "## page 1\n\nNaïve heron\nThe heron office files its affidavits on stilts.\n\
        fish 12\nfrogs 7\n";
    check(PaperForm::Pdf, "browser.pdf", browser);
}

#[test]
fn office_files_are_read_by_their_headings_slides_and_sheets() {
    let letter = "## section 1: Letter to the beavers\n\n\
        Dear beavers, your dam has flooded the accordion factory.\n\n\
        ## section 2: Damages\n\nbellows \t3\nreeds \t40\n\n\
        ## section 3: Remedy\n\nLower it by two feet & send a carpenter.\n";
    check(PaperForm::Package, "letter.docx", letter);
    let notes = "## section 1: Morning\n\nThe badger inspected every turnip twice.\n\n\
        ## section 2: Evening\n\nIt slept.\n";
    check(PaperForm::Package, "notes.odt", notes);
    let plan = "## slide 1: Plan\n\nBorrow a lighthouse\n\n\
        ## slide 2: Risks\n\nThe keeper may notice\nNote: Speak softly here.\n";
    check(PaperForm::Package, "plan.pptx", plan);
    let talk = "## slide 1: Moths\n\nMoths prefer the porcelain lamp\n\n## slide 2: Thanks\n\n\n";
    check(PaperForm::Package, "talk.odp", talk);
    let budget = "## sheet 1: Costs\n\nwhat\twhen\thow much\ngondola varnish\t2026-03-15\t12.5\n\
        oars\t2026-04-01 09:30:00\t3\n\n\
        ## sheet 2: Empty\n\n\n(this sheet is empty)\n\n## sheet 3: Plans\n\n\tsecond gondola\n";
    check(PaperForm::Package, "budget.xlsx", budget);
    check(
        PaperForm::Package,
        "stock.ods",
        "## sheet 1: Cellar\n\njar\tcount\npickled quince\t31\n",
    );
}

#[test]
fn books_pages_notebooks_mail_and_pictures_are_read() {
    let novel = "## chapter 1: Chapter One\n\nA tram full of oboes left the depot.\n\n\
        ## chapter 2: Chapter Two\n\nNobody played & all slept.\n";
    check(PaperForm::Package, "novel.epub", novel);
    let page = "## section 1: Hives\n\nA bee repaired the cuckoo clock.\n\n\
        ## section 2: Costs\n\n- wax\n";
    check(PaperForm::Html, "page.html", page);
    let study = "## cell 1: Tides\n\n# Tides\nThe estuary hums at noon.\n\n\
        ## cell 2\n\n```python\nprint(6 * 7)\n```\nOutput:\n```\n42\n```\n";
    check(PaperForm::Notebook, "study.ipynb", study);
    let mail = "# Grüße vom Leuchtturm\n\nFrom: Ann Keeper <ann@example.org>\nTo: bob@example.org\n\
        Date: 2026-11-19T08:00:00+01:00\n\nThe foghorn naïvely swallowed a pelican.\n\n\
        Attached: log.bin (600 bytes)\n";
    check(PaperForm::Mail, "mail.eml", mail);
    let photo = "Description: A cormorant on the harbour crane\nArtist: Ann\nCamera: Box 7\n";
    check(PaperForm::Picture, "photo.jpg", photo);
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let [pdf, docx] = ["report.pdf", "letter.docx"].map(file);
    check_refused(PaperForm::Pdf, &file("locked.pdf"), "locked with a password");
    check_refused(PaperForm::Pdf, b"", "its bytes do not");
    check_refused(PaperForm::Pdf, &docx, "its type says it is a PDF, but its bytes do not");
    check_refused(PaperForm::Pdf, b"%PDF-1.7\nnothing more", "no page can be found");
    check_refused(PaperForm::Package, b"", "its bytes do not");
    check_refused(PaperForm::Package, &pdf, "its bytes do not");
    check_refused(PaperForm::Package, &docx[..docx.len() / 2], "damaged or cut off");
    let locked = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 and more";
    check_refused(PaperForm::Package, locked, "locked with a password, or a file of Office 97");
    let other = zip(&[("a.txt", b"a")]);
    check_refused(PaperForm::Package, &other, "no document of Office, OpenDocument or EPUB");
    let hollow = zip(&[("xl/workbook.xml", b"<workbook><sheets><sheet name='a' r:id='x'/>")]);
    let said = shown(PaperForm::Package, &hollow).expect("it has a sheet");
    assert!(said.contains("this sheet is missing in the file"), "{said}");
    check_refused(PaperForm::Notebook, b"{}", "no notebook");
    check_refused(PaperForm::Notebook, b"{\"cells\": [", "no sound JSON");
    check_refused(PaperForm::Picture, b"\x89PNG\r\n\x1a\n", "nothing is written beside its pixels");
}

/// An archive with these files, packed.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).expect("it begins");
        zip.write_all(content).expect("it is written");
    }
    zip.finish().expect("it ends").into_inner()
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    // Unpacked, it is a thousand times as long.
    let one = zip(&[("word/document.xml", &vec![b' '; 49 << 20])]);
    assert!(one.len() < 200_000, "{}", one.len());
    check_refused(PaperForm::Package, &one, "unpacks to more than 48 MiB");
    // Each chapter is within bounds; all of them together are not.
    let chapters = "<item id='c' href='c'/>".to_owned() + &"<itemref idref='c'/>".repeat(4);
    let book = zip(&[
        ("META-INF/container.xml", b"<rootfile full-path='p'/>"),
        ("p", chapters.as_bytes()),
        ("c", &vec![b' '; 40 << 20]),
    ]);
    check_refused(PaperForm::Package, &book, "unpacks to more than");
}

#[test]
fn entities_that_a_document_defines_are_not_followed() {
    let mut laughs =
        "<!DOCTYPE w [<!ENTITY a \"ha\"><!ENTITY f SYSTEM \"file:///etc/passwd\">".to_owned();
    for (this, last) in "bcdefghij".chars().zip("abcdefghi".chars()) {
        laughs.push_str(&format!("<!ENTITY {this} \"{}\">", format!("&{last};").repeat(10)));
    }
    let body = format!("{laughs}]><w:t>before &j;&f; after &amp; &#x41;</w:t></w:p>");
    let bomb = zip(&[("word/document.xml", body.as_bytes())]);
    assert_eq!(shown(PaperForm::Package, &bomb).as_deref(), Ok("before  after & A\n"));
}

/// A PDF of these objects, numbered from one; the first is the catalogue.
fn pdf(objects: &[&str]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.4\n".to_vec();
    for (n, object) in objects.iter().enumerate() {
        bytes.extend(format!("{} 0 obj\n{object}\nendobj\n", n + 1).into_bytes());
    }
    bytes.extend(b"trailer << /Root 1 0 R >>\n%%EOF\n");
    bytes
}

#[test]
fn a_pdf_that_leads_back_to_itself_ends() {
    let catalogue = "<< /Type /Catalog /Pages 2 0 R >>";
    let tree = pdf(&[
        catalogue,
        "<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000000 >>",
        "<< /Type /Pages /Kids [2 0 R 3 0 R] /Parent 3 0 R >>",
    ]);
    check_refused(PaperForm::Pdf, &tree, "no page");
    // Each of nine drawings draws the next ten times; the last one draws the first.
    let content = "/F Do\n".repeat(10);
    let mut objects = vec![catalogue.to_owned()];
    objects.push("<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned());
    let resources = |next: usize| format!("/Resources << /XObject << /F {next} 0 R >> >>");
    objects.push(format!("<< /Type /Page {} /Contents 4 0 R >>", resources(5)));
    let stream = format!("/Length {} >>\nstream\n{content}endstream", content.len());
    objects.push(format!("<< {stream}"));
    for number in 5..14 {
        let next = if number == 13 { 5 } else { number + 1 };
        objects.push(format!("<< /Subtype /Form {} {stream}", resources(next)));
    }
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let said = shown(PaperForm::Pdf, &pdf(&objects)).expect("it has a page");
    assert!(said.contains("too much is drawn in this file"), "{said}");
}

#[test]
fn t50_fuzz_damaged_files_give_a_text_or_a_reason() {
    let files = [
        (PaperForm::Pdf, "report.pdf"),
        (PaperForm::Pdf, "signed.pdf"),
        (PaperForm::Package, "notes.odt"),
        (PaperForm::Package, "budget.xlsx"),
        (PaperForm::Package, "novel.epub"),
        (PaperForm::Html, "page.html"),
        (PaperForm::Notebook, "study.ipynb"),
        (PaperForm::Mail, "mail.eml"),
        (PaperForm::Picture, "photo.jpg"),
    ];
    let mut seed: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut chance = |most: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % most as u64).expect("it is small")
    };
    for (form, name) in files {
        let whole = file(name);
        for _ in 0..10 {
            let mut bytes = whole.clone();
            for _ in 0..1 + chance(8) {
                let at = chance(bytes.len());
                bytes[at] = u8::try_from(chance(256)).expect("it is a byte");
            }
            if chance(4) == 0 {
                bytes.truncate(chance(bytes.len()));
            }
            match shown(form, &bytes) {
                Ok(text) => assert!(text.len() <= 2 * MAX_TEXT),
                Err(why) => assert!(!why.is_empty(), "{name}"),
            }
        }
    }
}

#[test]
fn a_text_that_is_too_long_is_cut_and_says_so() {
    let row = format!("<row><c t='str'><v>{}</v></c></row>", "a long line ".repeat(500));
    let sheet = format!("<worksheet>{}</worksheet>", row.repeat(MAX_TEXT / 6000 + 2));
    let book = zip(&[
        (
            "xl/workbook.xml",
            b"<workbook><sheet name='a' r:id='r1'/><sheet name='b' r:id='r1'/></workbook>",
        ),
        ("xl/_rels/workbook.xml.rels", b"<Relationship Id='r1' Target='s.xml'/>"),
        ("xl/s.xml", sheet.as_bytes()),
    ]);
    let page = "a long line ".repeat(MAX_TEXT / 12 + 2) + "<p>more";
    for (form, bytes) in [(PaperForm::Package, book.as_slice()), (PaperForm::Html, page.as_bytes())]
    {
        let said = shown(form, bytes).expect("it has a text");
        assert!(said.len() < MAX_TEXT + 10_000, "{}", said.len());
        assert!(said.contains(CUT), "{}", &said[said.len() - 200..]);
    }
}
