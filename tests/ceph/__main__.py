"""`make test-ceph`: the tests on a real cluster, or the reason why they cannot run here."""

import sys
from pathlib import Path

import pytest

from tests.ceph.requirements import missing

# Processes that tests fork off load this module as well, under another name.
if __name__ == "__main__":
    if reason := missing():
        print(f"tests on a real Ceph cluster are skipped: {reason}")
        sys.exit()
    sys.exit(pytest.main(["-q", str(Path(__file__).parent), *sys.argv[1:]]))
