"""Check the types of the widgets' scripts with TypeScript: python tools/check_scripts.py

TypeScript comes from npm into .venv, once. Where npm is missing the check is passed over, and
said so; with CI=true it fails instead.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TYPESCRIPT = "typescript@5.9.3"
FOLDER = Path(sys.prefix) / "node"
COMPILER = FOLDER / "node_modules" / "typescript" / "bin" / "tsc"


def main() -> int:
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        print("Types of the scripts not checked: node and npm are missing.", file=sys.stderr)
        return int(os.environ.get("CI", "") in ("1", "true"))
    if not COMPILER.exists():
        subprocess.run(
            [npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix", FOLDER, TYPESCRIPT],
            check=True,
        )
    return subprocess.run([node, COMPILER, "-p", ROOT / "tools" / "tsconfig.json"]).returncode


if __name__ == "__main__":
    sys.exit(main())
