"""The form of `waiting_tk` in Qt 6 (PySide6).

python waiting_qt.py URL
"""

import sys

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QFrame, QMainWindow, QPushButton
from waiting_request import ANSWER, FORM, ask_in_thread

URL = sys.argv[1]


class Answers(QObject):
    came = Signal(str)


def show(color: str) -> None:
    block.setProperty("color", color)
    block.setStyleSheet(f"background: {color}")


def press() -> None:
    if block.property("color") == ANSWER:
        show(FORM)
    else:
        ask_in_thread(URL, answers.came.emit)


app = QApplication(sys.argv)
answers = Answers()
answers.came.connect(lambda _: show(ANSWER))
window = QMainWindow(windowTitle="Slow form")
window.resize(520, 320)
button, block = QPushButton("Send", window), QFrame(window)
button.setGeometry(40, 40, 200, 60)
button.clicked.connect(press)
block.setGeometry(40, 120, 400, 160)
show(FORM)
window.show()
app.exec()
