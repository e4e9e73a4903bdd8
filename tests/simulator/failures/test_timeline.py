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
    assert "node-a00" not in told
    assert "plimsoll-scheduler -> 409" in told


def test_equal_lines_are_told_once_with_their_number_and_the_first_time() -> None:
    (line,) = [line for line in timeline(TRACE) if "pods/status default/web-0" in line]

    assert line.startswith("  1:01.250")
    assert line.endswith("-> 409  (x2)")


def test_violations_and_the_lines_about_what_they_name_are_marked() -> None:
    marks = {line.split()[1] for line in timeline(TRACE) if "pods/status default/web-0" in line}

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


CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CREATED = "persistentvolumes=pvc-0f22e90d-81e0-4f1a-abc0-632a0d1b6b09"
ATTACHMENT = f"csi-{'0123456789abcdef' * 4}"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
PATCHED = f"volumeattachments.storage.k8s.io/status={ATTACHMENT}"
WHOLE_RUN = [
    "    0.000000 apiserver: started, life 1",
    "    0.100000 user: POST /apis/storage.k8s.io/v1/storageclasses -> 201",
    "   10.000000 user: createPods: name burst, pods 1",
    f"   10.100000 user: POST {CLAIMS} -> 201",
    "   11.000000 provisioner-0: POST /api/v1/persistentvolumes -> 201",
    f"   11.000000 provisioner-0: [info] write made write=create {CREATED}",
    f"   12.000000 controller-0: PATCH {ATTACHMENTS}/{ATTACHMENT}/status -> 200",
    f"   12.000000 controller-0: [info] write made write=patch {PATCHED}",
    *(f"   2{n}.000000 violation: attach limits hold: node-{n} has 3" for n in range(6)),
    "   90.000000 simulation: all faults have ended",
]


def test_a_timeline_goes_from_the_first_event_to_the_last_violation() -> None:
    told = timeline(WHOLE_RUN)

    assert told[0].split() == ["…", "2", "more"]
    assert told[1].endswith("createPods: name burst, pods 1")
    assert "node-2 has 3" in told[-2]


def test_of_many_equal_violations_the_first_are_told_and_the_others_counted() -> None:
    told = timeline(WHOLE_RUN)

    assert sum("attach limits hold" in line for line in told) == 3
    assert told[-1].split() == ["…", "4", "more"]


def test_a_write_is_one_line_with_the_kind_and_the_name_of_its_object() -> None:
    told = [line.split(maxsplit=2)[2] for line in timeline(WHOLE_RUN) if "-0  " in line]

    assert told == [
        "POST persistentvolumes pvc-0f22e90d… -> 201",
        "PATCH volumeattachments/status csi-01234567… -> 200",
    ]


def test_a_timeline_without_a_limit_has_names_in_full() -> None:
    assert any(ATTACHMENT in line for line in timeline(WHOLE_RUN, most=0))
