"""Compiles a suite into a program, once for each version of Kubernetes and of the shim."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from conformance import peers
from conformance.suites import overlay
from conformance.suites.overlay import MODULE, SHIM, Overlay

PACKAGES = "k8s.io/kubernetes/test/integration"

Say = Callable[[str], None]


def build_suite(name: str, say: Say) -> Path:
    """The program. Takes minutes the first time."""
    directory = peers.cache() / f"suites-{_digest()}"
    program = directory / name.replace("/", "_")
    if program.exists():
        return program
    sources = Overlay(directory / "overlay")
    if not sources.file.exists():
        sources.make()
    say(f"building {name} (minutes the first time)")
    _compile(name, program, sources)
    return program


def _digest() -> str:
    """Of everything that makes another program."""
    files = [MODULE / "go.mod", *sorted(SHIM.rglob("*.go")), Path(overlay.__file__)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _compile(name: str, program: Path, sources: Overlay) -> None:
    unfinished = program.with_suffix(f".unfinished-{os.getpid()}")
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOMODCACHE": str(sources.module_cache),
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -mod=mod -buildvcs=false".strip(),
    }
    command = [shutil.which("go") or "go", "test", "-c", "-vet=off", "-ldflags=-s -w"]
    command += ["-overlay", str(sources.file), "-o", str(unfinished), f"{PACKAGES}/{name}"]
    ended = subprocess.run(
        command,
        cwd=sources.module,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if ended.returncode != 0:
        tail = "\n".join(ended.stdout.splitlines()[-20:])
        raise peers.BuildFailedError(f"{name}: go test -c failed\n{tail}")
    unfinished.replace(program)
