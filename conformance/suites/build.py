"""Compiles suites into programs, once for each version of Kubernetes and of the shim."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance import peers
from conformance.suites import overlay, program
from conformance.suites.overlay import MODULE, TESTS, Overlay, download_kubernetes
from conformance.suites.subject import Programs, Subject

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteProgram:
    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it must be told besides."""
    data: Path | None = None
    """What its tests expect to find as `testdata` where they run."""


def build_suite(subject: Subject, name: str, say: Say) -> SuiteProgram:
    """Takes minutes the first time."""
    match subject.programs:
        case Programs.ONE_EACH:
            return _program_of_its_own(subject, name, say)
        case Programs.ONE_FOR_ALL:
            return SuiteProgram(
                path=_program_for_all(subject, say),
                environment={program.CHOICE: name},
                data=download_kubernetes() / TESTS / name / "testdata",
            )


def _program_of_its_own(subject: Subject, name: str, say: Say) -> SuiteProgram:
    directory = peers.cache() / f"suites-{_digest(subject)}"
    path = directory / name.replace("/", "_")
    if not path.exists():
        sources = Overlay(directory / "overlay", subject.shim)
        if not sources.file.exists():
            sources.make()
        say(f"building {name} (minutes the first time)")
        _compile("test", path, sources, f"k8s.io/kubernetes/{TESTS}/{name}", "-c", "-vet=off")
    return SuiteProgram(path=path)


def _program_for_all(subject: Subject, say: Say) -> Path:
    directory = peers.cache() / f"suites-{_digest(subject, *sorted(subject.suites))}"
    path = directory / "suites"
    if not path.exists():
        sources = Overlay(directory / "overlay", subject.shim)
        kubernetes = download_kubernetes()
        sources.make(program.tests_as_code(kubernetes, subject.suites))
        main = program.main_of(kubernetes, subject.suites)
        (sources.module / "main.go").write_text(main)
        say(f"building {len(subject.suites)} suites (minutes the first time)")
        _compile("build", path, sources, ".")
    return path


def _digest(subject: Subject, *more: str) -> str:
    """Of everything that makes another program."""
    files = [MODULE / "go.mod", *subject.shim.files(), Path(overlay.__file__)]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files))
    digest.update(repr((subject.shim, more)).encode())
    return digest.hexdigest()[:12]


def _compile(command: str, path: Path, sources: Overlay, package: str, *flags: str) -> None:
    unfinished = path.with_suffix(f".unfinished-{os.getpid()}")
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOMODCACHE": str(sources.module_cache),
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -mod=mod -buildvcs=false".strip(),
    }
    called = [shutil.which("go") or "go", command, *flags, "-ldflags=-s -w"]
    called += ["-overlay", str(sources.file), "-o", str(unfinished), package]
    ended = subprocess.run(
        called,
        cwd=sources.module,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if ended.returncode != 0:
        tail = "\n".join(ended.stdout.splitlines()[-20:])
        raise peers.BuildFailedError(f"{path.name}: go {command} failed\n{tail}")
    unfinished.replace(path)
