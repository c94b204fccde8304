"""Model files read in another process with limited memory and processor time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

MEMORY = 1_000_000_000
"""Bytes of address space beyond those that the imports take."""
SECONDS = 60
"""Of processor time for all files together."""

CHILD = """
import json, resource, sys
from pathlib import Path
from diffgbm import load
from diffgbm.persistence import _forest_kernels
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = held + {memory}
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
results = {{}}
for path in map(Path, sys.argv[1:]):
    try:
        results[path.name] = ["loaded", type(load(path)).__name__]
    except BaseException as error:
        results[path.name] = [type(error).__name__, str(error)]
print(json.dumps(results))
"""


def outcomes(paths: list[Path], memory: int = MEMORY, seconds: int = SECONDS) -> dict[str, tuple[str, str]]:
    """Load files within limits; return the exception ("loaded" if none) and its message by file name."""
    child = CHILD.format(memory=memory, seconds=seconds)
    # the arena and the stack of each thread count as address space
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, "-c", child, *map(str, paths)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: (kind, words) for name, (kind, words) in json.loads(done.stdout).items()}
