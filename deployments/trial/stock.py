"""A small program without an API, for the trial of the image: stock by article."""

import tkinter as tk

STOCK = {"A-100": 12, "B-310": 48}

window = tk.Tk()
window.title("Stock")
window.geometry("560x300+200+120")
window.option_add("*Font", "{DejaVu Sans} 14")
page = tk.Frame(window, padx=30, pady=20)
page.pack(fill="both", expand=True)


def show(heading: str) -> None:
    for widget in page.winfo_children():
        widget.destroy()
    tk.Label(page, text=heading, font="{DejaVu Sans} 18 bold").pack(anchor="w", pady=(0, 15))


def search() -> None:
    show("STOCK SEARCH")
    row = tk.Frame(page)
    row.pack(anchor="w", pady=10)
    tk.Label(row, text="Article").pack(side="left", padx=(0, 15))
    article = tk.Entry(row, width=16)
    article.pack(side="left")
    tk.Button(page, text="Search", command=lambda: detail(article.get())).pack(anchor="w", pady=15)


def detail(article: str) -> None:
    show("STOCK DETAIL")
    table = tk.Frame(page)
    table.pack(anchor="w", pady=10)
    for line, (label, value) in enumerate([("Article", article), ("On hand", STOCK.get(article, "-"))]):
        tk.Label(table, text=label, width=10, anchor="w").grid(row=line, column=0, pady=5)
        tk.Label(table, text=value, width=16, anchor="w").grid(row=line, column=1)


search()
window.mainloop()
