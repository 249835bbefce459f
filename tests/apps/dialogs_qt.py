"""A Qt program with file dialogs: it opens and saves a text."""

import sys
from pathlib import Path

from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget


def load() -> None:
    name, _ = QFileDialog.getOpenFileName(window, "Open a letter")
    if name:
        text.setText(Path(name).read_text())
        status.setText(f"Read {Path(name).name}")


def store() -> None:
    name, _ = QFileDialog.getSaveFileName(window, "Save the letter", "untitled.txt")
    if name:
        Path(name).write_text(text.text())
        status.setText(f"Wrote {Path(name).name}")


app = QApplication(sys.argv)
window = QWidget(windowTitle="Letters")
column = QVBoxLayout(window)
text, status = QLineEdit("Dear customer"), QLabel("Ready")
column.addWidget(text)
for word, what in (("Load letter", load), ("Store letter", store)):
    button = QPushButton(word)
    button.clicked.connect(what)
    column.addWidget(button)
column.addWidget(status)
window.resize(420, 160)
window.show()
app.exec()
