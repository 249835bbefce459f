"""The program of `menus_gtk3` in Qt 6 (PySide6): python menus_qt.py [FILE]"""

import sys

from menus import BUTTON, MENUS, done
from PySide6.QtWidgets import QApplication, QMainWindow, QPushButton

app = QApplication(sys.argv)
window = QMainWindow(windowTitle="Month end")
for menu, commands in MENUS.items():
    entries = window.menuBar().addMenu(menu)
    for command, shortcut in commands.items():
        action = entries.addAction(command, lambda command=command: done(command))
        action.setShortcut(shortcut)
button = QPushButton(BUTTON)
button.clicked.connect(lambda: done(BUTTON))
window.setCentralWidget(button)
window.resize(520, 320)
window.show()
app.exec()
