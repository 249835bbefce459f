"""Receipts as e-mail messages, each in a different layout.

The layouts are hard to read. Some are HTML only, or have an HTML alternative to an empty plain text. There are umlauts
in several encodings, and forwarded messages. Totals are in texts, tables, web pages and PDF attachments.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from email import policy
from email.message import EmailMessage
from typing import Literal

Outcome = Literal[
    "match", "wrong_amount", "duplicate", "no_transaction", "unknown_merchant", "not_a_receipt", "unreadable"
]


@dataclass(frozen=True)
class Sale:
    """One purchase on its receipt. ``ledger`` is the amount on the card statement, if it differs."""

    outcome: Outcome
    reference: str
    merchant: str
    address: str
    amount: str
    currency: str
    day: date
    card_holder: str
    layout: str
    ledger: str | None = None

    @property
    def euro_style(self) -> str:
        return f"{Decimal(self.amount):,.2f}".translate(str.maketrans(",.", ".,"))

    @property
    def plain(self) -> str:
        return f"{Decimal(self.amount):,.2f}"


def new(subject: str = "") -> EmailMessage:
    message = EmailMessage(policy=policy.SMTP)
    if subject:
        message["Subject"] = subject
    return message


def text(body: str) -> str:
    return textwrap.dedent(body).strip() + "\n"


def _plain(sale: Sale) -> EmailMessage:
    message = new(f"Receipt {sale.reference} - {sale.merchant}")
    message.set_content(text(f"""
        Dear guest,

        thank you for staying with us.

        Merchant: {sale.merchant}
        Date: {sale.day.isoformat()}
        Transaction: {sale.reference}

        2 nights, double room     EUR 1,180.00
        Breakfast                 EUR   104.50
        Total: EUR {sale.plain}

        We hope to welcome you again."""), cte="7bit")  # fmt: skip
    return message


def _html(sale: Sale) -> EmailMessage:
    message = new(f"Order shipped: your {sale.merchant} receipt")
    message.set_content(text(f"""
        <html><head><style>td {{ padding: 4px }}</style><title>Receipt</title></head><body>
        <div style="display:none">Save 50.00 on your next order! Total savings: $50.00</div>
        <h2>{sale.merchant.replace("&", "&amp;")}</h2>
        <p>12 Mill Lane, Portland<br>Receipt for transaction <b>{sale.reference}</b></p>
        <table><tr><th>Item<th>Price</tr><tr><td>Notebook, ruled</td><td>$14.00</td></tr>
        <tr><td>Pencils</td><td>$5.99</td></tr><tr><td>Subtotal</td><td>$19.99</td></tr>
        <tr><td>TOTAL</td><td>&nbsp;$<span>{sale.plain}</span></td></tr></table>
        <p>Purchase date: {sale.day:%B} {sale.day.day}, {sale.day.year}</p></body></html>"""),
        subtype="html", cte="7bit",
    )  # fmt: skip
    return message


def _alternative(sale: Sale) -> EmailMessage:
    message = new(f"Payment received ({sale.reference})")
    message.set_content(
        "Your payment was received. Please open this message in a program that shows HTML.\n", cte="7bit"
    )
    message.add_alternative(text(f"""
        <p>Hi Anna,</p><p>we charged your card for your yearly plan.</p>
        <table><tr><td>Merchant</td><td>{sale.merchant}</td></tr>
        <tr><td>Invoice date</td><td>{sale.day.day} {sale.day:%b} {sale.day.year}</td></tr>
        <tr><td>Reference</td><td>{sale.reference}</td></tr>
        <tr><td><b>Amount charged</b></td><td>USD&nbsp;{sale.plain}</td></tr></table>"""), subtype="html", cte="7bit",
    )  # fmt: skip
    return message


def _quoted(sale: Sale) -> EmailMessage:
    message = new("Ihre Quittung – vielen Dank für Ihren Besuch")
    message.set_content(text(f"""
        Guten Tag,

        Händler: {sale.merchant}
        Datum: {sale.day:%d.%m.%Y}
        Vorgang: {sale.reference}

        4 Mittagsmenüs               78,70 €
        Getränke                      5,50 €
        Zwischensumme                84,20 €
        Gesamtbetrag                 {sale.euro_style} €
        darin 19 % MwSt.             13,44 €"""), cte="quoted-printable")  # fmt: skip
    return message


def _base64(sale: Sale) -> EmailMessage:
    message = new(f"Fahrt vom {sale.day:%d.%m.%Y}: Quittung")
    message.set_content(text(f"""
        {sale.merchant}
        Langstrasse 94, 8004 Zürich
        Quittung {sale.reference}

        Datum: {sale.day.day}. September {sale.day.year}
        Flughafen – Hauptbahnhof
        Amount due CHF {sale.plain}"""), cte="base64")  # fmt: skip
    return message


def _txt(sale: Sale) -> EmailMessage:
    message = new("Your receipt is attached")
    message.set_content("Hello,\n\nplease find your receipt attached.\n", cte="7bit")
    message.add_attachment(text(f"""
        {sale.merchant.upper()}
        7 Quay Street, Bristol
        RECEIPT

        Transaction {sale.reference}
        Sale date: {sale.day:%d %B %Y}
        Posters A2 (25)      £  197.29
        VAT 20%              £   39.46
        TOTAL                £  {sale.plain}
        CARD ENDING 4417"""), filename="receipt.txt", cte="base64")  # fmt: skip
    return message


def _csv(sale: Sale) -> EmailMessage:
    message = new("Delivery note and receipt")
    message.set_content("Dear customer,\n\nthe receipt of your order is in the attached table.\n", cte="7bit")
    table = "Merchant;Date;Reference;Items;Total\r\n"
    table += f"{sale.merchant};{sale.day};{sale.reference};14;EUR {sale.euro_style}\r\n"
    message.add_attachment(table.encode(), maintype="application", subtype="octet-stream", filename="receipt.csv")
    return message


def _pdf(sale: Sale) -> EmailMessage:
    message = new("Invoice for your booking")
    message.set_content("Dear organiser,\n\nthank you for your booking. The invoice is attached.\n", cte="7bit")
    lines = (
        sale.merchant, "250 Harbour Road, Rotterdam", "INVOICE", f"Invoice date: {sale.day.day} {sale.day:%B %Y}",
        f"Reference: {sale.reference}", "Main hall, 1 day            EUR 2,600.00",
        "Catering                    EUR 350.00",
        f"Grand total                 EUR {sale.plain}", "Paid by card, thank you.",
    )  # fmt: skip
    message.add_attachment(one_page_pdf(lines), maintype="application", subtype="pdf", filename="invoice.pdf")
    return message


def _forwarded(sale: Sale) -> EmailMessage:
    message = new(f"Fwd: Rental agreement closed, receipt {sale.reference}")
    message["From"] = "Anna Lindqvist <anna@holo-audit.example>"
    message.set_content(text(f"""
        For my expenses, thanks. Anna

        ---------- Forwarded message ---------
        From: {sale.merchant} <{sale.address}>
        Subject: Rental agreement closed, receipt {sale.reference}

        > Thank you for driving with us.
        >
        > Pick-up and return: Lyon airport
        > Transaction date: {sale.day.isoformat()}
        > Transaction: {sale.reference}
        > Total paid: EUR {sale.plain}"""), cte="7bit")  # fmt: skip
    return message


def _html_german(sale: Sale) -> EmailMessage:
    message = new("Rechnung zu Ihrer Bestellung")
    message.set_content(text(f"""
        <table width="100%"><tr><td>Verkäufer:</td><td>{sale.merchant}</td></tr>
        <tr><td>Rechnungsdatum:</td><td>{sale.day:%d.%m.%Y}</td></tr>
        <tr><td>Zahlungsreferenz:</td><td>{sale.reference}</td></tr>
        <tr><td>Nettobetrag</td><td align=right>1.467,98&nbsp;&euro;</td></tr>
        <tr><td>zzgl. 19&nbsp;% MwSt.</td><td align=right>278,92&nbsp;&euro;</td></tr>
        <tr><td>Rechnungsbetrag</td><td align=right>{sale.euro_style}&nbsp;&euro;</td></tr></table>"""),
        subtype="html", cte="quoted-printable")  # fmt: skip
    return message


def _rfc822(sale: Sale) -> EmailMessage:
    inner = new(f"Parking receipt {sale.reference}")
    inner["From"] = f"{sale.merchant} <{sale.address}>"
    inner.set_content(text(f"""
        {sale.merchant}
        Level 3, Station Square, Leeds

        Date: {sale.day:%d/%m/%Y}
        Reference: {sale.reference}
        Amount paid: £{sale.plain}"""), cte="quoted-printable")  # fmt: skip
    message = new("WG: Parken")
    message["From"] = "Martin Okafor <martin@holo-audit.example>"
    message.set_content("See the message attached.\n", cte="7bit")
    message.add_attachment(inner)
    return message


def _latin9(sale: Sale) -> EmailMessage:
    message = new("Votre reçu")
    message.set_content(text(f"""
        Bonjour,

        voici votre reçu du {sale.day.isoformat()}.
        Commerçant: {sale.merchant}
        Référence {sale.reference}
        3 livres reliés, livraison comprise
        Montant total : {sale.euro_style} €"""), charset="iso-8859-15", cte="8bit")  # fmt: skip
    return message


def _html_file(sale: Sale) -> EmailMessage:
    message = new("Catering receipt")
    message.set_content("Thank you for your order. Your receipt is attached as a web page.\n", cte="7bit")
    page = text(f"""
        <!DOCTYPE html><html><body><h1>{sale.merchant}</h1><p>88 Market Street, Boston</p><h3>Receipt</h3>
        <dl><dt>Date</dt><dd>{sale.day.isoformat()}</dd><dt>Ref.</dt><dd>{sale.reference}</dd></dl>
        <p>Lunch for 24 guests</p><p>Total:</p><p>${sale.plain}</p></body></html>""")
    message.add_attachment(page, subtype="html", filename="receipt.html", cte="base64")
    return message


def _folio(sale: Sale) -> EmailMessage:
    message = new(f"Copy of your folio, {sale.merchant}")
    message.set_content(text(f"""
        <h3>{sale.merchant}</h3><p>1 Castle Square, Ghent</p><p>Folio copy (invoice) {sale.reference}</p>
        <p>Date: {sale.day.day} {sale.day:%B} {sale.day.year}</p>
        <table><tr><td>Room and breakfast</td><td>1.284,50</td></tr>
        <tr><td>Grand total</td><td>{sale.euro_style} EUR</td></tr></table>"""), subtype="html", cte="base64",
    )  # fmt: skip
    return message


LAYOUTS: dict[str, Callable[[Sale], EmailMessage]] = {
    "plain": _plain, "html": _html, "alternative": _alternative, "quoted": _quoted, "base64": _base64, "txt": _txt,
    "csv": _csv, "pdf": _pdf, "forwarded": _forwarded, "html_german": _html_german, "rfc822": _rfc822,
    "latin9": _latin9, "html_file": _html_file, "folio": _folio,
}  # fmt: skip


def one_page_pdf(lines: tuple[str, ...]) -> bytes:
    """Return a valid PDF of one A4 page with these lines of Latin text, without a PDF library."""
    escaped = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines]
    shown = "\n".join(f"({line}) Tj T*" for line in escaped)
    stream = f"BT /F1 12 Tf 18 TL 72 770 Td\n{shown}\nET".encode("cp1252")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R"
        b" /Resources << /Font << /F1 4 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    )
    out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    starts = []
    for number, body in enumerate(objects, start=1):
        starts.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    return out + b"xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        table,
        len(out),
    )
