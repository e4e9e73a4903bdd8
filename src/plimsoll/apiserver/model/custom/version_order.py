"""Which of several versions is preferred: v2 before v1, v1 before v1beta2, all before others."""

import re

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {None: 0, "beta": 1, "alpha": 2}


def version_order(name: str) -> tuple[int, int, int, int, str]:
    """Sorts versions as Kubernetes does, the preferred one first."""
    found = _VERSION.fullmatch(name)
    if found is None:
        return 1, 0, 0, 0, name
    return 0, _STAGES[found[2]], -int(found[1]), -int(found[3] or 0), name
