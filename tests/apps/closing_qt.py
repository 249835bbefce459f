"""A Qt 6 (PySide6) program that asks "Save changes?" as it closes."""

import sys

from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget


class Window(QWidget):
    def closeEvent(self, event: QCloseEvent) -> None:
        QMessageBox.question(self, "Save changes?", "Save?")
        event.accept()


app = QApplication(sys.argv)
window = Window(windowTitle="Closing")
window.resize(300, 200)
window.show()
sys.exit(app.exec())
