"""Whether this machine's kernel has device-mapper, which makes logical volumes into devices.

Without it lvm2 still keeps the books of a group: linear and striped volumes can be made, listed,
grown and removed, but not opened.
"""

import os
from pathlib import Path

CONTROL = Path("/dev/mapper/control")
UDEV = Path("/run/udev/control")


def why_no_device_mapper(control: Path = CONTROL) -> str:
    """Empty where there is device-mapper."""
    try:
        os.close(os.open(control, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return f"device-mapper is not usable here: {control}: {error.strerror}"
    return ""


def device_of(group: str, volume: str) -> Path:
    """What device-mapper calls the device of a volume, and the kernel when it is mounted."""
    # A single dash is between the two; those inside the names are doubled.
    return Path("/dev/mapper") / "-".join(name.replace("-", "--") for name in (group, volume))


def has_udev(control: Path = UDEV) -> bool:
    """Whether udev makes the device nodes; else lvm2 has to."""
    return control.exists()
