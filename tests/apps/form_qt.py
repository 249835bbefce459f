"""The small form of `form_gtk3` in Qt 6 (PySide6). It writes its events to FILE; F9 opens a tip.

python form_qt.py [FILE]
"""

import sys
from pathlib import Path

from PySide6.QtGui import QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMainWindow,
    QMessageBox,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

FILE = Path(sys.argv[1]) if len(sys.argv) > 1 else None


def done(what: str) -> None:
    if FILE is not None:
        with FILE.open("a") as file:
            file.write(what + "\n")


def save() -> None:
    done(f"saved {name.text()}")
    status.setText("Saved.")


def tip() -> None:
    shown = QMessageBox(window, windowTitle="Tip", text="Names can be sorted.")
    shown.addButton("Got it", QMessageBox.ButtonRole.AcceptRole)
    shown.open()


app = QApplication(sys.argv)
window = QMainWindow(windowTitle="Supplier form")
menu = window.menuBar().addMenu("&File")
for entry in ("New supplier", "Quit"):
    action = menu.addAction(entry, lambda entry=entry: done(f"menu {entry}"))
    if entry == "New supplier":
        action.setShortcut("Ctrl+N")
name, password = QLineEdit("Ada Supplies"), QLineEdit("tulip-7-secret")
password.setEchoMode(QLineEdit.EchoMode.Password)
grid = QGridLayout()
for row, (label, field) in enumerate((("&Name", name), ("Pass&word", password))):
    said = QLabel(label)
    said.setBuddy(field)
    grid.addWidget(said, row, 0)
    grid.addWidget(field, row, 1)
grid.addWidget(QCheckBox("Urgent"), 2, 1)
buttons = QHBoxLayout()
for label, action in (("Save", save), ("Don't save", lambda: done("not saved")), ("Close", app.quit)):
    button = QPushButton(label)
    button.clicked.connect(action)
    buttons.addWidget(button)
grid.addLayout(buttons, 3, 0, 1, 2)
status = QLabel("Ready.")
grid.addWidget(status, 4, 0, 1, 2)
table = QTableWidget(5, 2)
table.setHorizontalHeaderLabels(["Invoice", "Amount"])
for row in range(5):
    for column, text in enumerate((f"INV-{row}", f"{row}00.00")):
        table.setItem(row, column, QTableWidgetItem(text))
grid.addWidget(table, 5, 0, 1, 2)
inside = QWidget()
inside.setLayout(grid)
window.setCentralWidget(inside)
window.resize(480, 400)
QShortcut("F9", window, activated=tip)
window.show()
app.exec()
