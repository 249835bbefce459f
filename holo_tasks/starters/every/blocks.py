"""The blocks of this project, as code. `python blocks.py` saves them on the Prefect server of PREFECT_API_URL."""

import os
import shlex
from pathlib import Path

from holo_blocks import AuditBucket, HoloDesktop, HoloModel
from holo_tasks.desktop import tk_python

NAME = "STARTER"
HERE = Path(__file__).resolve().parent
os.environ.setdefault("HOLO_REPORTS", str(HERE))  # the folder of the reports


def save(model: HoloModel, folder: Path = HERE) -> None:
    """Save the blocks. The program keeps its records in ``folder``, and the agent its evidence."""
    program = [tk_python(), str(HERE / "program.py"), str(folder / "records.json")]
    model.save(NAME, overwrite=True)
    HoloDesktop(app=shlex.join(program), width=1024, height=640).save(NAME, overwrite=True)
    AuditBucket(local_folder=str(folder / "evidence")).save(NAME, overwrite=True)


if __name__ == "__main__":
    # With HAI_API_KEY, or with HOLO_BASE_URL and HOLO_MODEL, this is a real Holo model.
    rehearsal = HoloModel(base_url="http://127.0.0.1:8077/v1", model="rehearsal")
    save(HoloModel.from_environment() or rehearsal)
