"""How long calls to the driver take and how they end, named as all CSI sidecars name it."""

from plimsoll.runtime.metrics import Children, Metrics

BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600)


class CallMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._seconds = Children(
            metrics.histogram(
                "csi_sidecar_operations_seconds",
                "Time that calls to the driver took, by their outcome.",
                ("driver_name", "method_name", "grpc_status_code"),
                BUCKETS,
            )
        )

    def called(self, driver: str, method: str, code: str, seconds: float) -> None:
        """`code` as Python's gRPC names it; sidecars write `ResourceExhausted`."""
        shown = code if code == "OK" else code.title().replace("_", "")
        self._seconds.labels(driver, method, shown).observe(seconds)
