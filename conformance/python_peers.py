"""The real clients that are written in Python, in a virtual environment of their own.

`conformance/peers/python/requirements.txt` pins them and everything that they need. The environment
is kept beside the built peers, under a digest of that file: a changed pin installs anew.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from conformance import peers

ROOT = Path(__file__).parents[1]
REQUIREMENTS = peers.MODULES / "python" / "requirements.txt"
UV = ROOT / ".bootstrap" / "bin" / "uv"
TRUSTING_THE_SYSTEM = {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}
"""As the Makefile says it."""


def directory() -> Path:
    """The environment's, installed now if this pin never was before."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    place = peers.cache() / f"python-{digest}"
    if not place.exists():
        print("  installing the clients that are written in Python", flush=True)
        _install(place)
    return place


def version(package: str) -> str:
    """As it is pinned."""
    pins = dict(line.split("==") for line in REQUIREMENTS.read_text().split())
    return pins[package]


def _install(place: Path) -> None:
    # Made beside its place and moved there: an interrupted one is never taken for a whole one.
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_suffix(f".unfinished-{os.getpid()}")
    _uv("venv", "--relocatable", "--python", sys.executable, str(unfinished))
    try:
        python = str(unfinished / "bin" / "python")
        _uv("pip", "install", "--python", python, "--requirement", str(REQUIREMENTS))
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _uv(*arguments: str) -> None:
    command = [str(UV), "--quiet", *arguments]
    environment = {**os.environ, **TRUSTING_THE_SYSTEM}
    try:
        subprocess.run(command, env=environment, capture_output=True, check=True)
    except FileNotFoundError as error:
        raise peers.NotFoundError(f"there is no {UV}; `make setup` puts it there") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise peers.NotFoundError(f"the Python clients were not installed: {said}") from error
