"""Makes the documents beside it, each with the library or program that people use for it.

    python -m venv v && v/bin/pip install reportlab python-docx openpyxl python-pptx odfpy ebooklib pillow pypdf cryptography
    v/bin/python make.py     # chromium must be on the PATH

Run it again only to change a document: dates and identifiers within would differ each time.
"""

import datetime
import email.message
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent


def report_pdf():
    """Two pages of running text and one picture, by reportlab."""
    from PIL import Image as Pixels
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Image, PageBreak, Paragraph, SimpleDocTemplate

    with tempfile.TemporaryDirectory() as folder:
        picture = f"{folder}/p.png"
        Pixels.new("RGB", (8, 8), "navy").save(picture)
        styles = getSampleStyleSheet()
        long = (
            "The walrus keeps its ledger of clams in a barnacled notebook, and whoever wants to know how "
            "many were eaten in spring must ask the oldest of the herd, who counts on both flippers."
        )
        SimpleDocTemplate(str(HERE / "report.pdf"), invariant=1).build(
            [
                Paragraph("Annual report of the walruses", styles["Title"]),
                Paragraph(long, styles["Normal"]),
                PageBreak(),
                Paragraph("Résumé", styles["Heading1"]),
                Paragraph("On the second page the walrus sleeps — for “eleven” hours.", styles["Normal"]),
                PageBreak(),
                Image(picture),
            ]
        )


def browser_pdf():
    """Letters of composite fonts in a table and a list, by Chromium."""
    page = (
        "<meta charset=utf-8><h1>Naïve heron</h1><p>The heron office files its affidavits on stilts."
        "<table><tr><td>fish<td>12<tr><td>frogs<td>7</table>"
    )
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "p.html"
        source.write_text(page)
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
             f"--print-to-pdf={HERE / 'browser.pdf'}", source.as_uri()],
            check=True, capture_output=True,
        )


def locked_pdf():
    """A PDF that takes a password, and one that only its owner may change."""
    from pypdf import PdfReader, PdfWriter

    for name, password in [("locked.pdf", "secret"), ("signed.pdf", "")]:
        writer = PdfWriter(clone_from=PdfReader(HERE / "report.pdf"))
        writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
        writer.write(HERE / name)


def bomb_pdf():
    """A page of 700 MB, packed twice into a few thousand bytes."""
    import zlib

    pack = zlib.compressobj(9)
    once = b"".join(pack.compress(bytes(1 << 20)) for _ in range(700)) + pack.flush()
    twice = zlib.compress(once, 9)
    head = f"<< /Filter [/FlateDecode /FlateDecode] /Length {len(twice)} >>\nstream\n".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
        head + twice + b"\nendstream",
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (n + 1, text) for n, text in enumerate(objects))
    (HERE / "bomb.pdf").write_bytes(b"%PDF-1.4\n" + body + b"trailer << /Root 1 0 R >>\n%%EOF\n")


def letter_docx():
    from docx import Document

    letter = Document()
    letter.add_heading("Letter to the beavers", 0)
    letter.add_paragraph("Dear beavers, your dam has flooded the accordion factory.")
    letter.add_heading("Damages", 1)
    table = letter.add_table(rows=2, cols=2)
    for cell, text in zip([c for row in table.rows for c in row.cells], ["bellows", "3", "reeds", "40"]):
        cell.text = text
    letter.add_heading("Remedy", 1)
    letter.add_paragraph("Lower it by two feet & send a carpenter.", style="List Bullet")
    letter.save(HERE / "letter.docx")


def notes_odt():
    from odf.opendocument import OpenDocumentText
    from odf.text import H, P

    notes = OpenDocumentText()
    notes.text.addElement(H(outlinelevel=1, text="Morning"))
    notes.text.addElement(P(text="The badger inspected every turnip twice."))
    notes.text.addElement(H(outlinelevel=1, text="Evening"))
    notes.text.addElement(P(text="It slept."))
    notes.save(HERE / "notes.odt")


def plan_pptx():
    from pptx import Presentation

    plan = Presentation()
    for title, text in [("Plan", "Borrow a lighthouse"), ("Risks", "The keeper may notice")]:
        slide = plan.slides.add_slide(plan.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
    plan.slides[1].notes_slide.notes_text_frame.text = "Speak softly here."
    plan.save(HERE / "plan.pptx")


def talk_odp():
    from odf import draw, style
    from odf.opendocument import OpenDocumentPresentation
    from odf.text import P

    talk = OpenDocumentPresentation()
    layout = style.PageLayout(name="L")
    talk.automaticstyles.addElement(layout)
    master = style.MasterPage(name="M", pagelayoutname=layout)
    talk.masterstyles.addElement(master)
    for lines in [["Moths", "Moths prefer the porcelain lamp"], ["Thanks"]]:
        page = draw.Page(masterpagename=master)
        talk.presentation.addElement(page)
        for line in lines:
            frame = draw.Frame(width="10cm", height="2cm")
            box = draw.TextBox()
            box.addElement(P(text=line))
            frame.addElement(box)
            page.addElement(frame)
    talk.save(HERE / "talk.odp")


def budget_xlsx():
    from openpyxl import Workbook

    book = Workbook()
    costs = book.active
    costs.title = "Costs"
    costs.append(["what", "when", "how much"])
    costs.append(["gondola varnish", datetime.date(2026, 3, 15), 12.5])
    costs.append(["oars", datetime.datetime(2026, 4, 1, 9, 30), 3])
    costs["C5"] = "=SUM(C2:C3)"
    book.create_sheet("Empty")
    book.create_sheet("Plans")["B2"] = "second gondola"
    book.save(HERE / "budget.xlsx")


def stock_ods():
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    book = OpenDocumentSpreadsheet()
    table = Table(name="Cellar")
    for row in [["jar", "count"], ["pickled quince", "31"]]:
        line = TableRow()
        for text in row:
            cell = TableCell(valuetype="string")
            cell.addElement(P(text=text))
            line.addElement(cell)
        table.addElement(line)
    book.spreadsheet.addElement(table)
    book.save(HERE / "stock.ods")


def novel_epub():
    from ebooklib import epub

    book = epub.EpubBook()
    book.set_identifier("novel")
    book.set_title("The Tram")
    book.set_language("en")
    chapters = []
    for number, (title, text) in enumerate(
        [("Chapter One", "A tram full of oboes left the depot."), ("Chapter Two", "Nobody played &amp; all slept.")]
    ):
        chapter = epub.EpubHtml(title=title, file_name=f"text {number}.xhtml", lang="en")
        chapter.content = f"<h1>{title}</h1><p>{text}</p>"
        book.add_item(chapter)
        chapters.append(chapter)
    book.toc = chapters
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    book.spine = chapters
    epub.write_epub(HERE / "novel.epub", book)


def study_ipynb():
    cell = {"metadata": {}, "cell_type": "markdown", "source": ["# Tides\n", "The estuary hums at noon.\n"]}
    code = {
        "metadata": {}, "cell_type": "code", "execution_count": 1, "source": ["print(6 * 7)\n"],
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["42\n"]},
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo=" * 50}},
        ],
    }
    info = {"language_info": {"name": "python"}}
    book = {"cells": [cell, code], "metadata": info, "nbformat": 4, "nbformat_minor": 5}
    (HERE / "study.ipynb").write_text(json.dumps(book, indent=1))


def mail_eml():
    message = email.message.EmailMessage()
    message["Subject"] = "Grüße vom Leuchtturm"
    message["From"] = "Ann Keeper <ann@example.org>"
    message["To"] = "bob@example.org"
    message["Date"] = "Thu, 19 Nov 2026 08:00:00 +0100"
    message.set_content("The foghorn naïvely swallowed a pelican.\n")
    message.add_alternative("<p>The foghorn <b>swallowed</b> a pelican.</p>", subtype="html")
    message.add_attachment(b"\x00" * 600, maintype="application", subtype="octet-stream", filename="log.bin")
    (HERE / "mail.eml").write_bytes(message.as_bytes())


def photo_jpg():
    from PIL import ExifTags, Image

    photo = Image.new("RGB", (16, 12), "teal")
    exif = Image.Exif()
    exif[ExifTags.Base.ImageDescription] = "A cormorant on the harbour crane"
    exif[ExifTags.Base.Artist] = "Ann"
    exif[ExifTags.Base.Model] = "Box 7"
    photo.save(HERE / "photo.jpg", exif=exif)


def page_html():
    (HERE / "page.html").write_text(
        "<!doctype html><html><head><title>Bees &amp; clocks</title><script>var hidden = 1</script></head>"
        "<body><h1>Hives</h1><p>A bee repaired the <i>cuckoo</i> clock.</p><h2>Costs</h2><ul><li>wax</ul></body></html>\n"
    )


for make in [report_pdf, browser_pdf, locked_pdf, bomb_pdf, letter_docx, notes_odt, plan_pptx, talk_odp, budget_xlsx,
             stock_ods, novel_epub, study_ipynb, mail_eml, photo_jpg, page_html]:
    make()
