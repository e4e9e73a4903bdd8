"""Names of labels, and the short names that classes use for them."""

COMPATIBLE_SEPARATOR = ","


def short_name(label: str) -> str:
    """What follows the first slash: `zone` for `topology.kubernetes.io/zone`, and for itself."""
    return label.partition("/")[2] if "/" in label else label


def compatible_labels(text: str) -> list[str]:
    """The labels of a setting as ceph-csi reads it: blanks and empty names count."""
    return text.split(COMPATIBLE_SEPARATOR)


def split_labels(text: str) -> list[str]:
    """The labels of a setting, separated by commas or semicolons; blanks do not count."""
    names = (name.strip() for name in text.replace(";", COMPATIBLE_SEPARATOR).split(","))
    return [name for name in names if name]
