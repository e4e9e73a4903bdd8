import pytest

from plimsoll.apiserver.admission.chain import Admission, parse_disabled
from tests.apiserver.admission.requests import a_request, an_object


def test_a_plugin_that_is_switched_off_does_nothing() -> None:
    pod = an_object("Pod", spec={})
    quiet = Admission(disabled=parse_disabled("DefaultTolerationSeconds, Priority"))
    namespace = an_object("Namespace", "default", status={"phase": "Active"})
    quiet.admit(a_request(pod, namespace))
    assert pod["spec"] == {}


def test_plugins_that_are_not_there_are_off_already() -> None:
    assert parse_disabled("ServiceAccount") == {"ServiceAccount"}
    assert parse_disabled("") == frozenset()


def test_a_name_that_no_plugin_has_is_refused() -> None:
    with pytest.raises(ValueError, match=r"called Foo; there are .*Priority"):
        parse_disabled("Foo,LimitRanger")
