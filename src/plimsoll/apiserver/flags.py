"""The flags of `plimsoll apiserver`: neither a file nor the environment sets any of them."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from plimsoll.apiserver.admission.chain import parse_disabled
from plimsoll.apiserver.main import ApiServerSettings
from plimsoll.runtime import config
from plimsoll.runtime.config import parse_duration
from plimsoll.runtime.flags import Flag, PathKind


def parse_lasting(text: str) -> timedelta:
    """A length of time that is not zero. Raises ValueError."""
    duration = parse_duration(text)
    if not duration:
        raise ValueError("it must be longer than nothing")
    return duration


class ApiServerFlags(config.Settings, frozen=True, kw_only=True):
    """Defaults of `plimsoll apiserver`."""

    data_dir: Annotated[
        str, Flag("Where objects, keys and certificates are kept.", path=PathKind.DIRECTORY)
    ] = "plimsoll-data"
    port: Annotated[
        int, Flag("Port on 127.0.0.1; 0 takes a free one.", at_least=0, at_most=65535)
    ] = 6443
    write_kubeconfig: Annotated[
        str | None,
        Flag("Write a kubeconfig for the administrator here (mode 0600).", path=PathKind.FILE),
    ] = None
    history_seconds: Annotated[float, Flag("How far back watches can resume.", at_least=1)] = 300
    event_ttl: Annotated[
        timedelta,
        Flag("How long events are kept after they were last written.", parse=parse_lasting),
    ] = timedelta(hours=1)
    disable_admission_plugins: Annotated[
        str,
        Flag(
            "Admission plugins to switch off, by kube-apiserver's names, separated by commas.",
            metavar="NAMES",
        ),
    ] = ""

    def settings(self) -> ApiServerSettings:
        """Raises ValueError for a plugin that does not exist."""
        kubeconfig = self.write_kubeconfig
        return ApiServerSettings(
            data_dir=Path(self.data_dir),
            port=self.port,
            write_kubeconfig=Path(kubeconfig) if kubeconfig is not None else None,
            history=timedelta(seconds=self.history_seconds),
            event_ttl=self.event_ttl,
            disabled_admission_plugins=parse_disabled(self.disable_admission_plugins),
        )
