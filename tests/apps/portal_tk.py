"""A program with a password and a one-time code, whose session ends after some look-ups.

portal_tk.py FOLDER: `settings.json` there has the user, the password, the seed (an otpauth address), the path of pyotp,
the look-ups per session, a Maildir for mailed codes, and these codes in order. Events go to `log` there, one per line.
A code is accepted once among all programs of the folder. The texts next to it exist for tests to search.
"""

import email.message
import email.utils
import json
import sys
import time
import tkinter as tk
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

FOLDER = Path(sys.argv[1])
TOLD = json.loads((FOLDER / "settings.json").read_text())
sys.path.append(TOLD["pyotp"])
import pyotp  # noqa: E402

FONT, HEAD = ("DejaVu Sans", 13), ("DejaVu Sans", 16, "bold")
SEED = dict(parse_qsl(urlsplit(TOLD["seed"]).query))
CODES = pyotp.TOTP(SEED["secret"], interval=int(SEED["period"]))
USED = FOLDER / "used"


def note(*words: str) -> None:
    with (FOLDER / "log").open("a") as log:
        print(*words, file=log)


class Portal(tk.Tk):
    def __init__(self) -> None:
        super().__init__()
        self.title("Harbour Portal")
        self.geometry("760x420+20+20")
        self.sheet = tk.Frame(self)
        self.left = 0
        self.mailed = ""
        self.sign_on()

    def begin(self, heading: str, said: str) -> None:
        self.sheet.destroy()
        self.sheet = tk.Frame(self)
        self.sheet.pack(fill="both", expand=True, padx=24, pady=16)
        tk.Label(self.sheet, text=heading, font=HEAD).grid(row=0, column=0, columnspan=2, sticky="w", pady=12)
        tk.Label(self.sheet, text=said, font=FONT).grid(row=9, column=0, columnspan=2, sticky="w", pady=12)

    def field(self, row: int, label: str, **how: str) -> tk.Entry:
        tk.Label(self.sheet, text=label, font=FONT).grid(row=row, column=0, sticky="w", padx=8, pady=8)
        entry = tk.Entry(self.sheet, font=FONT, bg="white", width=24, **how)
        entry.grid(row=row, column=1)
        return entry

    def button(self, row: int, text: str, then: object) -> None:
        tk.Button(self.sheet, text=text, font=FONT, command=then).grid(row=row, column=1, sticky="w", pady=10)

    def sign_on(self, said: str = "") -> None:
        self.begin("SIGN ON TO THE PORTAL", said)
        user, password = self.field(1, "User"), self.field(2, "Password", show="•")

        def go() -> None:
            if (user.get(), password.get()) == (TOLD["user"], TOLD["password"]):
                self.second_step()
            else:
                note("refused")
                self.sign_on("Sign on refused")

        self.button(3, "Sign on", go)

    def second_step(self, said: str = "") -> None:
        self.begin("SECOND STEP", said)
        code = self.field(1, "One-time code")

        def go() -> None:
            given = code.get()
            why = self.refusal(given)
            note("code", given, why or "taken")
            if why:
                self.second_step(f"Code {given} {why}")
            else:
                self.left = TOLD["look_ups"]
                self.records(f"Signed on with {given}")

        self.button(2, "Verify", go)
        if TOLD["maildir"]:
            self.button(3, "Send a code by mail", self.send)

    def refusal(self, given: str) -> str:
        if self.mailed:
            right, self.mailed = given == self.mailed, ""
            return "" if right else "wrong"
        at = CODES.timecode(time.time())
        used = USED.read_text() if USED.exists() else ""
        if given != CODES.generate_otp(at):
            return "wrong"
        if f"{at}\n" in used:
            return "replayed"
        USED.write_text(f"{used}{at}\n")
        return ""

    def send(self) -> None:
        self.mailed = TOLD["codes"].pop(0)
        letter = email.message.EmailMessage()
        letter["From"], letter["To"] = "Harbour Portal <codes@portal.example>", "anna@localhost"
        letter["Date"], letter["Subject"] = email.utils.localtime(), "Your code"
        letter["Message-ID"] = email.utils.make_msgid()
        letter.set_content(f"Your code for the portal is {self.mailed}. It is good once.\n")
        name = f"{time.time_ns()}.portal"
        draft = Path(TOLD["maildir"]) / "tmp" / name
        draft.write_bytes(letter.as_bytes())
        draft.chmod(0o644)
        draft.rename(Path(TOLD["maildir"]) / "new" / name)
        note("mailed", self.mailed)

    def records(self, said: str = "", status: str = "") -> None:
        self.begin("RECORDS", said)
        record = self.field(1, "Record")
        tk.Label(self.sheet, text="Status", font=FONT).grid(row=4, column=0, sticky="w", padx=8)
        tk.Label(self.sheet, text=status, font=FONT).grid(row=4, column=1, sticky="w", padx=60)

        def go() -> None:
            if not self.left:
                note("expired")
                self.sign_on("Session expired")
                return
            self.left -= 1
            note("looked up", record.get())
            self.records(status=f"OPEN-{record.get()}")

        self.button(2, "Look up", go)


Portal().mainloop()
