"""Copy the notebooks to notebooks/mine, for a learner to write in.

What is there already stays as it is: nobody's work is overwritten, by this or by a pull.
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def copy_to_mine(root: Path = ROOT) -> tuple[list[str], list[str]]:
    """Copy what is not there yet, with all that its links lead to; return (copied, kept) names."""
    folder, copied, kept = root / "notebooks", [], []
    parts = ("*.ipynb", "solutions/*.ipynb", "images/*", "rise.css")
    for source in sorted(path for part in parts for path in folder.glob(part)):
        target = folder / "mine" / source.relative_to(folder)
        if target.exists():
            kept.append(source.name)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        copied.append(source.name)
    return copied, kept


if __name__ == "__main__":
    copied, kept = copy_to_mine()
    print(f"Copied {len(copied)} files to notebooks/mine; {len(kept)} were there and stay as you left them.")
    sys.exit(0)
