"""Asks what the API server makes of a pod."""

import copy
from typing import Any

from plimsoll.apiserver.model.kinds.pods.scheduling.affinity import take_label_keys_from_pod


def api_label_keys(case: dict[str, Any]) -> dict[str, Any]:
    pod = copy.deepcopy(case["pod"])
    take_label_keys_from_pod(pod)
    spec = pod["spec"]
    return {name: spec.get(name) for name in ("affinity", "topologySpreadConstraints")}
