import pytest

from plimsoll.apiserver.admission.chain import OPTIONAL, Admission, PluginChoice, parse_plugins
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_request, an_object


def test_a_plugin_that_is_switched_off_does_nothing() -> None:
    pod = an_object("Pod", spec={})
    disable = "DefaultTolerationSeconds, Priority, ServiceAccount"
    quiet = Admission(plugins=parse_plugins(enable="", disable=disable))
    namespace = an_object("Namespace", "default", status={"phase": "Active"})
    quiet.admit(a_request(pod, namespace))
    assert pod["spec"] == {}


def test_plugins_that_are_off_can_be_switched_on() -> None:
    namespace = an_object("Namespace", "default", status={"phase": "Active"})
    pod = an_object("Pod", spec={})
    choice = parse_plugins(enable="AlwaysDeny", disable="ServiceAccount")
    Admission(plugins=PluginChoice(disabled=choice.disabled)).check(a_request(pod, namespace))
    with pytest.raises(ApiError, match="admission control is denying all modifications"):
        Admission(plugins=choice).check(a_request(pod, namespace))


def test_plugins_that_are_not_there_are_off_already() -> None:
    choice = parse_plugins(enable="", disable="PodNodeSelector")
    assert choice.off == OPTIONAL | {"PodNodeSelector"}


@pytest.mark.parametrize(
    ("enable", "disable", "said"),
    [
        ("", "Foo,LimitRanger", r'disable-admission-plugins plugin "Foo" is unknown.*Priority'),
        ("Foo", "", 'enable-admission-plugins plugin "Foo" is unknown'),
        (
            "Priority,LimitRanger",
            "LimitRanger",
            r"\[LimitRanger\] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
        ("PodNodeSelector", "", "this server has no plugin PodNodeSelector to enable"),
    ],
)
def test_names_that_make_no_sense_are_refused(enable: str, disable: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_plugins(enable=enable, disable=disable)
