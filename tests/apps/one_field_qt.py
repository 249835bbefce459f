"""A Qt table and a field of each kind; a file has their contents and positions.

one_field_qt.py STATE
"""

import json
import sys
from pathlib import Path

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QTableWidget,
    QTableWidgetItem,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

STATE = Path(sys.argv[1])
LINES = "first\n\nthird\nfourth\n"

app = QApplication(sys.argv)
window = QWidget()
window.setWindowTitle("One field")
layout = QVBoxLayout(window)
table = QTableWidget(4, 3)
for row in range(4):
    for column in range(3):
        table.setItem(row, column, QTableWidgetItem(f"r{row}c{column}"))
table.setCurrentCell(1, 1)
entry, empty, area, spin = QLineEdit("held before"), QLineEdit(), QPlainTextEdit(LINES), QSpinBox()
rich = QTextEdit("first<br>second <b>third</b>")
spin.setMaximum(1000)
spin.setValue(12)
combo, choice = QComboBox(editable=True), QComboBox()
for each in (combo, choice):
    each.addItems(["one", "two", "three"])
    each.setCurrentIndex(1)
check, button = QCheckBox("Urgent"), QPushButton("Save")
fields = {
    "entry": entry, "empty": empty, "spin": spin, "area": area, "rich": rich, "combo": combo, "choice": choice,
    "check": check, "button": button,
}  # fmt: skip
for widget in (table, entry, empty, spin, area, rich, combo, choice, check, button):
    layout.addWidget(widget)


def place(widget: QWidget) -> list[int]:
    at = widget.mapToGlobal(QPoint(30, widget.height() // 2))
    return [at.x(), at.y()]


def tell() -> None:
    cell = table.visualItemRect(table.item(1, 1)).center()
    at = table.viewport().mapToGlobal(cell)
    told = {
        "cells": [[table.item(row, column).text() for column in range(3)] for row in range(4)],
        "fields": {
            "entry": entry.text(),
            "empty": empty.text(),
            "spin": spin.text(),
            "area": area.toPlainText(),
            "rich": rich.toPlainText(),
            "combo": combo.currentText(),
            "choice": choice.currentText(),
            "check": str(check.isChecked()),
        },
        "at": {name: place(widget) for name, widget in fields.items()} | {"table": [at.x(), at.y()]},
    }
    STATE.with_suffix(".new").write_text(json.dumps(told))
    STATE.with_suffix(".new").replace(STATE)


timer = QTimer()
timer.timeout.connect(tell)
timer.start(100)
window.resize(500, 600)
window.show()
app.exec()
