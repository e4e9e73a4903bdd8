"""An action or a fault as one line for people."""

from plimsoll.simulator.scenario.faults import ScenarioFault
from plimsoll.simulator.scenario.file import entry_document
from plimsoll.simulator.scenario.user import Action


def line_of(event: Action | ScenarioFault) -> str:
    """What an event does, as its line in a scenario file."""
    values = entry_document(event)
    del values["at"]
    what = values.pop("do")
    said = ", ".join(f"{key} {value}" for key, value in values.items())
    return f"{what}: {said}" if said else str(what)
