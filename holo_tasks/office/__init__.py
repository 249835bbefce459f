"""Read mail and write workbooks, as steps without a screen that a flow combines with an agent.

Three modules matter most. `mailbox` reads a Maildir or an IMAP folder into letters. `letter` parses one message.
`workbook` keeps one row per key in an Excel file.

This package may import core, machine and loop, and does not know Prefect. It imports openpyxl and pypdf only when a
workbook or a PDF is opened.
"""
