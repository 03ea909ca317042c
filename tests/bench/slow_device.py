"""Durable writes on a device whose sync takes a while, as most do: every fsync and fdatasync is delayed. Needs a C compiler.

    python -m tests.bench.slow_device [--ms 4]

A machine whose disk acknowledges a sync in a fraction of a millisecond measures Python only; this shows what group commit is
for. The bare commit that it is compared with is delayed alike.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
#define DELAYED(name) \\
  int name(int fd) { \\
    static int (*real)(int); \\
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, #name); \\
    usleep(DELAY_MS * 1000); \\
    return real(fd); \\
  }
DELAYED(fsync)
DELAYED(fdatasync)
"""


def main() -> None:
    """Run the write part of the speed bench with the shim preloaded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ms", type=int, default=4)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        from memgraph import Memory
        from tests.bench.speed import writes

        path = asked.run / "slow.db"
        with Memory.open(path, preload=False) as memory:
            memory.remember_many([f"fact {number}" for number in range(1000)])
            writes(memory, path, asked.run, 1000)
        return
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "slow.c", Path(folder) / "slow.so"
        source.write_text(SHIM)
        command = ["cc", "-shared", "-fPIC", f"-DDELAY_MS={asked.ms}", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
        print(f"| with {asked.ms} ms more a sync | figure |\n|---|---|", flush=True)
        environ = os.environ | {"LD_PRELOAD": str(library)}
        command = [sys.executable, "-m", "tests.bench.slow_device", "--run", folder]
        subprocess.run(command, check=True, env=environ)


if __name__ == "__main__":
    main()
