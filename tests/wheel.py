"""Build the wheel and look into it: `python -m tests.wheel`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Fail unless the wheel holds the package, its type marker and the Cypher files, and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, str(ROOT)]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("memgraph_store-*.whl")
        names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "memgraph", "cypher"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    wanted = {f"memgraph/{name}" if name.startswith("cypher/") else name for name in tracked.stdout.split()}
    missing = {name for name in wanted if name not in names}
    strange = {name for name in names if not name.startswith(("memgraph/", "memgraph_store-"))}
    assert not missing, f"not in the wheel: {sorted(missing)}"
    assert not strange, f"does not belong in the wheel: {sorted(strange)}"
    print(f"{wheel.name}: {len(names)} files")


if __name__ == "__main__":
    main()
