"""Qt 6 (PySide6) fields that keep a typed text unchanged, complete it, mask it, or truncate it.

python fields_qt.py
"""

import sys

from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QCompleter,
    QDateEdit,
    QFormLayout,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QTextEdit,
    QWidget,
)

app = QApplication(sys.argv)
window = QWidget(windowTitle="Fields")
form, completer, combo = QFormLayout(window), QCompleter(["Apple"]), QComboBox(editable=True)
completer.setCompletionMode(QCompleter.CompletionMode.InlineCompletion)
combo.addItems(["Austria", "Belgium"])
price, town = QLineEdit(), QLineEdit()
price.editingFinished.connect(
    lambda: price.setText(f"{float(price.text().removesuffix(' €').replace(',', '.')):.2f} €")
)
town.returnPressed.connect(lambda: town.text() == "Bern" and town.setText("Berlin"))
number, twice = QSpinBox(maximum=50), QLineEdit(readOnly=True)
number.textChanged.connect(lambda text: twice.setText(str(2 * int(text or 0))))
wiped, near = QLineEdit(), QSpinBox(minimum=100, maximum=999)
wiped.editingFinished.connect(lambda: wiped.text().isdigit() or wiped.clear())
near.setCorrectionMode(QSpinBox.CorrectionMode.CorrectToNearestValue)
near.setValue(300)
fields = {
    "Plain": QLineEdit(),
    "Mask": QLineEdit(inputMask="99/99/9999;_"),
    "Short": QLineEdit(maxLength=4),
    "Number": number,
    "Completed": QLineEdit(),
    "Country": combo,
    "Password": QLineEdit(echoMode=QLineEdit.EchoMode.Password),
    "Notes": QTextEdit(),
    "Price": price,
    "Town": town,
    "Twice": twice,
    "Weight": QSpinBox(maximum=500, suffix=" kg"),
    "Due": QDateEdit(displayFormat="dd.MM.yyyy"),
    "Least": QSpinBox(minimum=100, maximum=999),
    "Near": near,
    "Wiped": wiped,
}
fields["Completed"].setCompleter(completer)
for name, field in fields.items():
    form.addRow(name, field)
form.addRow(QPushButton("Send"))
window.show()
app.exec()
