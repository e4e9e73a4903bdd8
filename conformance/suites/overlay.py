"""Lays our shim over Kubernetes' sources where Go compiles them; nothing of theirs is kept here.

Go refuses to replace files below its module cache. So the cache is named by another path (a
symbolic link), and every module of the build is replaced by its directory: the directories are the
same as before, so that what was compiled for the peers is used again.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance import peers

MODULE = peers.MODULES / "integration"
SHIMS = Path(__file__).parent / "shim"
TESTS = "test/integration"
REPLACEMENTS = re.compile(r"^replace \(.*?^\)\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shim:
    """What stands in for a part of Kubernetes in its own tests."""

    name: str
    added: Mapping[str, str]
    """By a package of Kubernetes, the directory whose files are added to it."""
    rewritten: Mapping[str, Mapping[str, str]]
    """By a file of Kubernetes, what is written otherwise in it: functions of upstream get another
    name, and those that are added take their places; a test may ask for what it takes for granted
    of kube-apiserver."""

    def files(self) -> list[Path]:
        return sorted((SHIMS / self.name).rglob("*.go"))


class Overlay:
    """In a directory of its own. What is made begins with `directory`, `module` is where Go is
    called and `file` what it is told."""

    def __init__(self, directory: Path, shim: Shim) -> None:
        self.directory = directory
        self.shim = shim
        self.module = directory / "module"
        self.file = directory / "overlay.json"
        self.module_cache = directory / "modules"

    def make(self, more: Mapping[str, Path] | None = None) -> None:
        """With `more` files of Kubernetes, by other places in it."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.module.mkdir(parents=True)
        kubernetes = download_kubernetes()
        self.module_cache.symlink_to(kubernetes.parents[1])
        replaced = self._laid_over(kubernetes)
        for place, file in (more or {}).items():
            replaced[place] = replaced.get(str(file.relative_to(kubernetes)), file)
        places = {str(kubernetes / name): str(file) for name, file in replaced.items()}
        places |= self._write_module()
        self.file.write_text(json.dumps({"Replace": places}))

    def _laid_over(self, kubernetes: Path) -> dict[str, Path]:
        changed = {name: self._rewritten(kubernetes, name) for name in self.shim.rewritten}
        added = {
            f"{package}/zz_plimsoll_{each.name}": each
            for package, directory in self.shim.added.items()
            for each in (SHIMS / self.shim.name / directory).glob("*.go")
        }
        return {**changed, **added}

    def _rewritten(self, kubernetes: Path, name: str) -> Path:
        text = (kubernetes / name).read_text()
        for theirs, instead in self.shim.rewritten[name].items():
            assert theirs in text, f"{name}: {theirs} is not where it was"
            text = text.replace(theirs, instead)
        ours = self.directory / name.replace("/", "_")
        ours.write_text(text)
        return ours

    def _write_module(self) -> dict[str, str]:
        """The module with a directory for each dependency; what stands in for missing go.mod."""
        wanted = "{{if and .Dir (not .Main)}}{{.Path}} {{.Dir}}{{end}}"
        listed = _go("list", "-mod=readonly", "-m", "-f", wanted, "all", at=MODULE)
        lines, missing = [], {}
        for line in filter(None, listed.splitlines()):
            name, directory = line.split()
            lines.append(f"\t{name} => {directory}")
            if not (Path(directory) / "go.mod").exists():
                stand_in = self.directory / f"{name.replace('/', '_')}.mod"
                stand_in.write_text(f"module {name}\n")
                missing[f"{directory}/go.mod"] = str(stand_in)
        own = REPLACEMENTS.sub("", (MODULE / "go.mod").read_text())
        (self.module / "go.mod").write_text(own + "\nreplace (\n" + "\n".join(lines) + "\n)\n")
        shutil.copy(MODULE / "go.sum", self.module / "go.sum")
        return missing


def download_kubernetes() -> Path:
    """Where Go keeps its sources."""
    _go("mod", "download", "k8s.io/kubernetes", at=MODULE)
    return Path(_go("env", "GOMODCACHE")) / f"k8s.io/kubernetes@{peers.KUBERNETES_VERSION}"


def _go(*arguments: str, at: Path | None = None) -> str:
    go = shutil.which("go")
    if go is None:
        raise peers.PeersUnavailableError("there is no Go to build Kubernetes' suites with")
    try:
        ended = subprocess.run([go, *arguments], cwd=at, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise peers.BuildFailedError(f"go {arguments[0]}: {error.stderr}") from error
    return ended.stdout.strip()
