"""Warehouse: a small desktop program without an API. It takes the place of the program that you have to use."""

import json
import sys
from pathlib import Path

from window import Window

records = Path(sys.argv[1])
stock = json.loads(records.read_text()) if records.exists() else {"A-100": 12, "A-200": 0, "B-310": 48}
window = Window("Warehouse")


def search_page() -> None:
    window.show("STOCK SEARCH")
    article = window.field("Article")
    window.button("Search", lambda: detail_page(article.get()))


def detail_page(article: str) -> None:
    window.show("STOCK DETAIL" if article in stock else "NO SUCH ARTICLE")
    window.line("Article", article)
    window.line("On hand", str(stock.get(article, "-")))
    window.button("Back", search_page)


search_page()
window.mainloop()
