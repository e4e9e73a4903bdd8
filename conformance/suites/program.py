"""One program of several suites: tests become ordinary code, and a list of them is written.

Go links each package of tests into a program of its own, which takes as long as everything else.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from conformance.suites.overlay import TESTS

TEST = re.compile(r"^func (Test(?![a-z])\w*)\(\w+ \*testing\.T\)", re.MULTILINE)
CHOICE = "PLIMSOLL_SUITE"
"""The variable that says which suite the program is to run."""

MAIN = """\
package main

import (
\t"os"
\t"regexp"
\t"testing"

%(imports)s
)

var suites = map[string][]testing.InternalTest{
%(suites)s
}

func main() {
\ttesting.Main(regexp.MatchString, suites[os.Getenv("%(choice)s")], nil, nil)
}
"""


def tests_as_code(kubernetes: Path, suites: Iterable[str]) -> dict[str, Path]:
    """By the place where Go takes it for a part of the package, each file of tests."""
    return {
        f"{TESTS}/{suite}/zz_plimsoll_{file.stem}_code.go": file
        for suite in suites
        for file in _files(kubernetes, suite)
    }


def main_of(kubernetes: Path, suites: Iterable[str]) -> str:
    """The program's source."""
    imports, lists = [], []
    for number, suite in enumerate(suites):
        imports.append(f'\tsuite{number} "k8s.io/kubernetes/{TESTS}/{suite}"')
        lists.append(f'\t"{suite}": {{')
        lists += [
            f'\t\t{{Name: "{test}", F: suite{number}.{test}}},'
            for file in _files(kubernetes, suite)
            for test in TEST.findall(file.read_text())
        ]
        lists.append("\t},")
    return MAIN % {"imports": "\n".join(imports), "suites": "\n".join(lists), "choice": CHOICE}


def _files(kubernetes: Path, suite: str) -> list[Path]:
    return sorted((kubernetes / TESTS / suite).glob("*_test.go"))
