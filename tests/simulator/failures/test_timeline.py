from plimsoll.simulator.failures.timeline import names_in, timeline

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
TRACE = [
    '   10.000000 fault: {"do":"cut","at":10.0,"what":"scheduler-0"}',
    f"   11.000000 scheduler-1: PUT {LEASES}/plimsoll-scheduler -> 200",
    f"   12.000000 scheduler-1: PUT {LEASES}/plimsoll-scheduler -> 409",
    "   61.250000 controller-0: PATCH /api/v1/namespaces/default/pods/web-0/status -> 409",
    "   61.500000 controller-0: PATCH /api/v1/namespaces/default/pods/web-0/status -> 409",
    "   62.000000 nodes a0: PATCH /api/v1/nodes/node-a00/status -> 200",
    "   63.000000 nodes a0: PATCH /api/v1/namespaces/default/pods/other-1/status -> 200",
    "   90.000000 violation: everything that can run runs: pod default/web-0 has no node",
]


def test_heartbeats_are_left_out_and_refused_ones_are_told() -> None:
    told = "\n".join(timeline(TRACE))

    assert "plimsoll-scheduler -> 200" not in told
    assert "node-a00/status" not in told
    assert "plimsoll-scheduler -> 409" in told


def test_equal_lines_are_told_once_with_their_number_and_the_first_time() -> None:
    (line,) = [line for line in timeline(TRACE) if "web-0/status" in line]

    assert line.startswith("  1:01.250")
    assert line.endswith("-> 409  (x2)")


def test_violations_and_the_lines_about_what_they_name_are_marked() -> None:
    marks = {line.split()[1] for line in timeline(TRACE) if "web-0/status" in line}

    assert marks == {">>"}
    assert timeline(TRACE)[-1].split()[1] == "!!"
    assert names_in(["everything that can run runs: pod default/web-0 has no node"]) == {"web-0"}


def test_a_long_timeline_keeps_what_matters_and_counts_the_rest() -> None:
    told = timeline(TRACE, most=3)

    assert [line[14:].split()[0] for line in told if "…" not in line] == [
        "fault",
        "controller-0",
        "violation",
    ]
    assert sum(int(line.split()[1]) for line in told if "…" in line) == 2


def test_a_timeline_without_a_limit_tells_everything_but_heartbeats() -> None:
    assert len(timeline(TRACE, most=0)) == 5
