"""The program of orders in Qt 6 (PySide6): records_qt.py STATE [--drift NAME]."""

import sys

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMainWindow,
    QPushButton,
    QWidget,
)
from records import SHIFT_MS, Buttons, Field, Row, Text, Value, started

desk = started()
look = desk.drift.look
PAD = round(look.pad * look.scale)
app = QApplication(sys.argv[:1])
app.setStyleSheet(
    f'* {{ font-family: "{look.font}"; font-size: {round(look.points * look.scale * 4 / 3)}px; '
    f"font-weight: {'bold' if look.bold else 'normal'}; color: {look.fore}; background: {look.back}; }} "
    f"QLineEdit {{ background: {look.field_back}; border: 1px solid {look.fore}; }} "
    f"QPushButton {{ border: 1px solid {look.fore}; padding: {PAD}px; }} QPushButton:disabled {{ color: #a0a0a0; }}"
)
window = QMainWindow(windowTitle=look.title)
window.resize(round(look.width * look.scale), round(look.height * look.scale))
window.move(*look.place)
fields: dict[str, QLineEdit] = {}


def draw() -> None:
    """Draw the page again."""
    fields.clear()
    page, grid = QWidget(), QGridLayout()
    grid.setSpacing(2 * PAD)
    for number, row in enumerate(desk.rows()):
        put(grid, row, 2 * number)
    grid.setColumnMinimumWidth(0, round(150 * look.scale))
    grid.setRowStretch(100, 1)
    grid.setColumnStretch(2, 1)
    page.setLayout(grid)
    window.setCentralWidget(page)
    if desk.shifts:
        QTimer.singleShot(SHIFT_MS, shift)


def put(grid: QGridLayout, row: Row, at: int) -> None:
    """Put one row of the page into its grid."""
    match row:
        case Text():
            grid.addWidget(QLabel(row.text), at, 0, 1, 3)
        case Value():
            grid.addWidget(QLabel(row.label), at, 0)
            grid.addWidget(QLabel(row.text), at, 1)
        case Field():
            entry, said = QLineEdit(row.text), QLabel(row.label)
            entry.setFixedWidth(round(260 * look.scale))
            said.setBuddy(entry)
            grid.addWidget(said, at, 0)
            grid.addWidget(entry, *((at + 1, 0) if look.above else (at, 1)))
            fields[row.name] = entry
        case Buttons():
            box = QHBoxLayout()
            for button in row.row:
                made = QPushButton(button.label)
                made.setEnabled(button.enabled)
                made.clicked.connect(lambda _, what=button.press: press(what))
                box.addWidget(made)
            box.addStretch()
            grid.addLayout(box, at, 0, 1, 3)


def press(what: str) -> None:
    """Perform a button's action, and show the result."""
    wait_ms = desk.press(what, {name: entry.text() for name, entry in fields.items()})
    QTimer.singleShot(wait_ms, draw)


def shift() -> None:
    """Let the buttons change places."""
    desk.shifted = True
    typed = {name: entry.text() for name, entry in fields.items()}
    draw()
    for name, text in typed.items():
        fields[name].setText(text)


draw()
window.show()
app.exec()
