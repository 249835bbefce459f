"""Orders: a small desktop program without an API. It takes the place of the program that you have to use.

It keeps the orders in a JSON file, which its argument names.
"""

import json
import sys
from pathlib import Path

from window import Window

records = Path(sys.argv[1])
orders = json.loads(records.read_text()) if records.exists() else []
window = Window("Orders")


def menu_page() -> None:
    window.show("ORDER MENU")
    window.button("New order", form_page)
    window.button("Find order", find_page)


def form_page() -> None:
    window.show("ORDER FORM")
    number, customer, article, quantity = map(window.field, ("Number", "Customer", "Article", "Quantity"))
    window.button("Save order", lambda: save(number.get(), customer.get(), article.get(), quantity.get()))
    window.button("Menu", menu_page)


def save(number: str, customer: str, article: str, quantity: str) -> None:
    orders.append({"number": number, "customer": customer, "article": article, "quantity": quantity})
    records.write_text(json.dumps(orders))
    window.show("ORDER SAVED")
    window.line("Number", number)
    window.button("Menu", menu_page)


def find_page() -> None:
    window.show("FIND ORDER")
    number = window.field("Number")
    window.button("Find", lambda: found_page(number.get()))
    window.button("Menu", menu_page)


def found_page(number: str) -> None:
    found = any(order["number"] == number for order in orders)
    window.show("ORDER ON FILE" if found else "NO SUCH ORDER")
    window.line("Number", number)
    window.button("Menu", menu_page)


menu_page()
window.mainloop()
