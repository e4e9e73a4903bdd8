"""Compares our answers with those of the real programs."""

import argparse
import sys
from pathlib import Path

from tests.oracle import runner


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        default=[runner.HERE],
        help="files of cases, packed or not, or directories of them; by default our own",
    )
    parser.add_argument("--max-diffs", type=int, default=3, help="differences shown per oracle")
    arguments = parser.parse_args()
    for path in arguments.files:
        if not path.exists():
            parser.error(f"{path}: no such file")
    return runner.report(arguments.files, arguments.max_diffs)


if __name__ == "__main__":
    sys.exit(main())
