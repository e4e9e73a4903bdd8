"""Lays our shim over Kubernetes' sources where Go compiles them; nothing of theirs is kept here.

Go refuses to replace files below its module cache. So the cache is named by another path (a
symbolic link), and every module of the build is replaced by its directory: the directories are the
same as before, so that what was compiled for the peers is used again.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

from conformance import peers

MODULE = peers.MODULES / "integration"
SHIM = Path(__file__).parent / "shim"
REPLACED = {
    "util/util.go": {
        "\nfunc InitTestSchedulerWithOptions(": "\nfunc initUpstreamScheduler(",
        "= framework.StartTestServer(tCtx, t, ": "= startServer(admission, tCtx, t, ",
    },
    # A machine that does other things as well needs longer to start an API server.
    "framework/test_server.go": {
        "wait.PollImmediate(100*time.Millisecond, 10*time.Second,": (
            "wait.PollImmediate(100*time.Millisecond, 2*time.Minute,"
        )
    },
    # The API server that tests share runs to the end: no use in looking for what it left running.
    "framework/etcd.go": {
        "klog.StopFlushDaemon()\n": "klog.StopFlushDaemon()\n\tos.Exit(result)\n"
    },
}
"""What is written otherwise in Kubernetes' own files below test/integration."""
REPLACEMENTS = re.compile(r"^replace \(.*?^\)\n", re.DOTALL | re.MULTILINE)


class Overlay:
    """In a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.module = directory / "module"
        self.file = directory / "overlay.json"
        self.module_cache = directory / "modules"

    def make(self) -> None:
        cache = Path(_go("env", "GOMODCACHE"))
        shutil.rmtree(self.directory, ignore_errors=True)
        self.module.mkdir(parents=True)
        self.module_cache.symlink_to(cache)
        replaced = self._laid_over(cache / f"k8s.io/kubernetes@{peers.KUBERNETES_VERSION}")
        replaced |= self._write_module()
        self.file.write_text(json.dumps({"Replace": replaced}))

    def _laid_over(self, kubernetes: Path) -> dict[str, str]:
        """Upstream's functions keep their bodies under other names; ours take their places."""
        tests = kubernetes / "test/integration"
        changed = {str(tests / name): str(self._rewritten(tests, name)) for name in REPLACED}
        added = {f"{tests}/util/zz_plimsoll_{each.name}": str(each) for each in SHIM.glob("*.go")}
        options = SHIM / "scheduler/options.go"
        added[f"{kubernetes}/pkg/scheduler/zz_plimsoll_options.go"] = str(options)
        return {**changed, **added}

    def _rewritten(self, tests: Path, name: str) -> Path:
        text = (tests / name).read_text()
        for theirs, instead in REPLACED[name].items():
            assert theirs in text, f"{name}: {theirs} is not where it was"
            text = text.replace(theirs, instead)
        ours = self.directory / Path(name).name
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


def _go(*arguments: str, at: Path | None = None) -> str:
    go = shutil.which("go")
    if go is None:
        raise peers.PeersUnavailableError("there is no Go to build Kubernetes' suites with")
    try:
        ended = subprocess.run([go, *arguments], cwd=at, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise peers.BuildFailedError(f"go {arguments[0]}: {error.stderr}") from error
    return ended.stdout.strip()
