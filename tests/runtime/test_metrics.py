import pytest

from plimsoll.runtime.metrics import Children, Metrics


def test_a_metric_asked_for_twice_is_the_same_metric() -> None:
    metrics = Metrics()
    metrics.counter("plimsoll_x_total", "X.").inc()
    metrics.counter("plimsoll_x_total", "X.").inc()
    assert b"plimsoll_x_total 2.0" in metrics.exposition()


def test_two_processes_in_one_interpreter_do_not_share_metrics() -> None:
    one, other = Metrics(), Metrics()
    one.gauge("plimsoll_y", "Y.").set(1)
    other.gauge("plimsoll_y", "Y.").set(2)
    assert b"plimsoll_y 1.0" in one.exposition()
    assert b"plimsoll_y 2.0" in other.exposition()


def test_one_name_cannot_be_two_kinds_of_metric() -> None:
    metrics = Metrics()
    metrics.counter("plimsoll_z", "Z.")
    with pytest.raises(TypeError, match="plimsoll_z"):
        metrics.gauge("plimsoll_z", "Z.")


def test_labels_and_histograms_appear_in_the_text_format() -> None:
    metrics = Metrics()
    metrics.histogram("plimsoll_wait_seconds", "Waiting.", ["queue"]).labels("pods").observe(0.3)
    assert b'plimsoll_wait_seconds_count{queue="pods"} 1.0' in metrics.exposition()


def test_a_child_that_is_remembered_is_the_one_of_its_metric() -> None:
    metrics = Metrics()
    counter = metrics.counter("plimsoll_calls_total", "Calls.", ["method", "code"])
    children = Children(counter)
    children.labels("Probe", "OK").inc()
    assert children.labels("Probe", "OK") is counter.labels("Probe", "OK")
    assert b'plimsoll_calls_total{code="OK",method="Probe"} 1.0' in metrics.exposition()
