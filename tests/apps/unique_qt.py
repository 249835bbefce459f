"""A single-instance Qt 6 program: a second start passes its file to the first over a local socket and ends.

python unique_qt.py FILE [STATUS]

STATUS is the exit status of the second start. Qt creates the socket in the folder for temporary files.
"""

import sys
from pathlib import Path

from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QLabel

NAME = "unique-qt"
app, windows = QApplication(sys.argv), []


def show(file: str) -> None:
    window = QLabel(file, windowTitle=f"{Path(file).name} - Unique")
    window.resize(300, 200)
    window.show()
    windows.append(window)


def receive() -> None:
    connection = server.nextPendingConnection()
    connection.readyRead.connect(lambda: show(bytes(connection.readAll()).decode()))


file, status = sys.argv[1], int((sys.argv[2:] or ["0"])[0])
socket = QLocalSocket()
socket.connectToServer(NAME)
if socket.waitForConnected(1000):
    socket.write(file.encode())
    socket.waitForBytesWritten(1000)
    sys.exit(status)
server = QLocalServer()
server.newConnection.connect(receive)
QLocalServer.removeServer(NAME)  # left by a killed process
server.listen(NAME)
show(file)
sys.exit(app.exec())
