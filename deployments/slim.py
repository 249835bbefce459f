"""Remove files that no run needs from the image's environment: tests of packages, and AWS services other than S3.

Only the Containerfile runs it. It uses the Python of that environment.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

SERVICES = {"s3", "sts", "sso", "sso-oidc", "signin"}
"""Those of AWS that are called: S3, and those that give boto3 its credentials."""


def main() -> None:
    """Remove it, and say how much that was."""
    if sys.prefix == sys.base_prefix:
        sys.exit("slim: run it with the Python of the environment that is to become smaller")
    packages = Path(sysconfig.get_path("purelib"))
    going = [*tests(packages), *services(packages / "botocore" / "data"), *services(packages / "boto3" / "data")]
    removed = sum(file.stat().st_size for folder in going for file in folder.rglob("*") if file.is_file())
    for folder in going:
        shutil.rmtree(folder)
    print(f"slim: removed {removed / 1e6:.1f} MB in {len(going)} folders")


def tests(packages: Path) -> list[Path]:
    """Return the outermost folders of tests in packages."""
    found = [each for each in sorted(packages.glob("*/**/tests")) if each.is_dir()]
    return [each for each in found if not any(other in each.parents for other in found)]


def services(data: Path) -> list[Path]:
    """Return the folders of AWS services that the project does not call."""
    return [each for each in sorted(data.iterdir()) if each.is_dir() and each.name not in SERVICES]


if __name__ == "__main__":
    main()
