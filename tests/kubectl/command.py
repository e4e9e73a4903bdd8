"""kubectl as a user has it: a program, its arguments, what it prints and how it ends."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

from conformance import peers

SECONDS = 60


def find_kubectl() -> str | None:
    """$PLIMSOLL_KUBECTL, the one on the PATH, or the one that conformance built."""
    named = os.environ.get("PLIMSOLL_KUBECTL") or shutil.which("kubectl")
    if named:
        return named
    return str(peers.KUBECTL.binary) if peers.KUBECTL.binary.exists() else None


class Kubectl:
    """One kubectl with one kubeconfig; its caches live as long as the directory it is given."""

    def __init__(self, program: str, kubeconfig: Path, cache: Path, namespace: str) -> None:
        self._command = [program, f"--kubeconfig={kubeconfig}", f"--cache-dir={cache}"]
        self.namespace = namespace

    def arguments(self, *words: str) -> list[str]:
        return [*self._command, f"--namespace={self.namespace}", *words]

    def __call__(self, *words: str, stdin: Any = None, editor: str = "") -> str:
        """What kubectl prints; an exit code other than 0 fails the test with its complaint."""
        ended = self.run(*words, stdin=stdin, editor=editor)
        assert ended.returncode == 0, f"kubectl {' '.join(words)}: {ended.stderr}{ended.stdout}"
        return ended.stdout

    def refused(self, *words: str, stdin: Any = None) -> str:
        """What kubectl complains about; success fails the test."""
        ended = self.run(*words, stdin=stdin)
        assert ended.returncode != 0, f"kubectl {' '.join(words)} succeeded: {ended.stdout}"
        return ended.stderr

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "-o", "json"))

    def run(
        self, *words: str, stdin: Any = None, editor: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.arguments(*words),
            input=stdin if stdin is None or isinstance(stdin, str) else json.dumps(stdin),
            env={**os.environ, "KUBE_EDITOR": editor} if editor else None,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def minor_version(self) -> int:
        """32 for kubectl 1.32; read from the one field that every build fills in."""
        version = json.loads(self("version", "--client", "-o", "json"))["clientVersion"]
        return int(version["gitVersion"].split(".")[1])

    def start(self, *words: str) -> "RunningKubectl":
        return RunningKubectl(self.arguments(*words))


class RunningKubectl:
    """A kubectl that keeps running, such as a watch; used as a context manager."""

    def __init__(self, command: list[str]) -> None:
        # What it complains about goes to the test's own output.
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def line(self) -> str:
        """The next line it prints; empty when it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def is_running(self) -> bool:
        return self._process.poll() is None

    def ends(self) -> int:
        """Waits for the end; its exit code."""
        return self._process.wait(SECONDS)
