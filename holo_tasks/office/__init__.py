"""Steps without a screen that a flow chains with an agent.

A mailbox is read into letters, a letter into a receipt, and what came of it goes into a workbook. Nothing
here knows Prefect; openpyxl and pypdf are imported only when a workbook or a PDF is really met.
"""
