from plimsoll.api.core import Event, Lease, Node, ReportedEvent, Secret
from plimsoll.api.meta import ObjectKey
from plimsoll.api.typed import decode
from tests.builders import a_node


def test_a_node_is_ready_only_while_it_says_so() -> None:
    assert a_node().is_ready
    assert not Node().is_ready
    unknown = b'{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}'
    assert not decode(Node, unknown).is_ready


def test_a_secret_never_shows_its_data() -> None:
    raw = b'{"metadata":{"name":"keys","namespace":"default"},"data":{"password":"aHVudGVyMg=="}}'
    secret = decode(Secret, raw)
    assert secret.data["password"] == b"hunter2"
    assert repr(secret) == "Secret('default/keys', keys=['password'])"
    assert "hunter2" not in f"{secret} {secret!r} {[secret]}"


def test_both_forms_of_an_event_name_their_object() -> None:
    core = decode(Event, b'{"involvedObject":{"namespace":"a","name":"b"},"count":3}')
    reported = decode(ReportedEvent, b'{"regarding":{"namespace":"a","name":"b"},"note":"x"}')
    assert core.involved_object.key == reported.regarding.key == ObjectKey("a", "b")


def test_the_times_of_a_lease_keep_their_microseconds() -> None:
    lease = decode(Lease, b'{"spec":{"renewTime":"2030-01-01T00:00:00.000123Z"}}')
    assert lease.spec.renew_time is not None
    assert lease.spec.renew_time.microsecond == 123
