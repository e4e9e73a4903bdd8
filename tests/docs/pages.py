"""Shell blocks of the pages, as one script for each group of pages.

What follows ```sh says what becomes of a block:

- `try`: typed line by line; a line that fails is typed again for a while, as a person would.
  `try exit=N`: its last line ends with that code, at once.
- `serve`: each line in a terminal of its own, until it says that it is ready. `serve again`: what
  the pages before have started is stopped first. `try stopped`: the same before a `try`.
- `run`: run by itself, and its output compared (`test_documents`). `run NAME=VALUE`: with that in
  its environment.
- `skip: reason`: not run; the reason is one of SKIPS.

A block ```yaml file=NAME is written to that file where it is shown.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\S*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"exit=(\d+)")
STARTS = "Where this starts:"
SKIPS = frozenset(
    {
        "needs a cluster that is not ours",
        "needs a driver with a socket for each node",
        "needs a package of yours",
        "needs disks to spare",
        "is what runs these tests",
        "is what this page is about",
        "changes this machine",
        "needs the real programs",
        "takes several minutes",
        "shows a form, with names of an example",
    }
)
PROLOGUE = """\
set -euo pipefail
LOGS=$1; cd "$2"; TERMINALS=""; NUMBER=0
close() { for pid in $TERMINALS; do kill "$pid" || true; wait "$pid" || true; done; TERMINALS=""; }
trap close EXIT
ready() {
  until [ -s "$LOGS/$NUMBER.out" ]; do
    kill -0 "$1" || { cat "$LOGS/$NUMBER.err"; exit 1; }
    sleep 0.1
  done
}
type_in() {
  echo "\\$ $1"
  for _ in $(seq 60); do if eval "$1"; then return; fi; sleep 1; done
  echo "never succeeded: $1"; exit 1
}
ends_with() {
  echo "\\$ $2"; local code=0
  (eval "$2") || code=$?
  [ "$code" = "$1" ] || { echo "ended with $code, not $1: $2"; exit 1; }
}
"""


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    mark: str
    text: str

    @property
    def is_run(self) -> bool:
        return self.mark.partition(" ")[0] == "run"

    @property
    def environment(self) -> dict[str, str]:
        """What the mark sets for a block that is run."""
        return dict(word.split("=", 1) for word in self.mark.split()[1:])

    @property
    def lines(self) -> list[str]:
        joined = self.text.replace("\\\n", " ")
        return [line for line in joined.splitlines() if line.strip() and line[0] != "#"]


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


def blocks(document: Path) -> list[Block]:
    return [Block(*found) for found in FENCE.findall(document.read_text())]


def shell_blocks(document: Path) -> list[Block]:
    return [block for block in blocks(document) if block.language == "sh"]


def script(pages: list[str]) -> str:
    return PROLOGUE + "".join(line + "\n" for page in pages for line in _page(page))


def _page(page: str) -> Iterator[str]:
    yield 'cd "$2"'
    for number, block in enumerate(blocks(ROOT / page)):
        yield f"echo '== {page}, block {number}'"
        if block.language == "sh":
            yield from _shell(block)
        elif block.mark.startswith("file="):
            yield f"cat > {shlex.quote(block.mark.removeprefix('file='))} <<'END OF FILE'"
            yield block.text + "END OF FILE"


def _shell(block: Block) -> Iterator[str]:
    if block.mark in {"serve again", "try stopped"}:
        yield "close"
    if block.mark.startswith("serve"):
        for line in block.lines:
            yield f"echo {shlex.quote('$ ' + line)}; NUMBER=$((NUMBER + 1))"
            yield f'{line} > "$LOGS/$NUMBER.out" 2> "$LOGS/$NUMBER.err" &'
            yield 'TERMINALS="$! $TERMINALS"; ready $!'
    elif block.mark.startswith("try"):
        *first, last = block.lines
        yield from (f"type_in {shlex.quote(line)}" for line in first)
        code = EXIT.search(block.mark)
        typed = f"ends_with {code.group(1)}" if code else "type_in"
        yield f"{typed} {shlex.quote(last)}"
