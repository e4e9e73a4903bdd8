from dataclasses import replace

from plimsoll.decide.provisioning.settings import DriverCapability, ProvisionerMode
from tests.decide.provisioning.builders import CONTROLLER, SETTINGS


def test_what_a_driver_does_not_report_it_cannot_do() -> None:
    plain = replace(
        SETTINGS,
        plugin_capabilities=frozenset({DriverCapability.CONTROLLER_SERVICE}),
        controller_capabilities=CONTROLLER - {DriverCapability.PUBLISH_UNPUBLISH_VOLUME},
    )

    assert SETTINGS.supports_topology
    assert SETTINGS.sees_attachments
    assert not plain.supports_topology
    assert not plain.sees_attachments


def test_oddities_are_copied_only_when_asked_for() -> None:
    assert not SETTINGS.is_compatible
    assert replace(SETTINGS, mode=ProvisionerMode.COMPATIBLE).is_compatible
