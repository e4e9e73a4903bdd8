"""Names of CSI drivers, and the parameters that are handed to them."""

from collections.abc import Iterator, Mapping

from plimsoll.api.names import dns_subdomain_errors, qualified_name_errors
from plimsoll.apiserver.model.field_errors import FieldError

DRIVER_NAME_LIMIT = 63
PARAMETERS_LIMIT = 512
PARAMETERS_LIMIT_BYTES = 256 * 1024


def driver_name_errors(name: str, path: str) -> Iterator[FieldError]:
    """The name a driver reports about itself; case does not matter."""
    if not name:
        yield FieldError.required(path)
        return
    if len(name) > DRIVER_NAME_LIMIT:
        yield FieldError.too_long(path, DRIVER_NAME_LIMIT)
    for error in dns_subdomain_errors(name.lower()):
        yield FieldError.invalid(path, name, error)


def provisioner_errors(name: str, path: str) -> Iterator[FieldError]:
    """A class may name a provisioner that is no CSI driver, such as `example.com/nfs`."""
    if not name:
        yield FieldError.required(path)
        return
    for error in qualified_name_errors(name.lower()):
        yield FieldError.invalid(path, name.lower(), error)


def parameters_errors(parameters: Mapping[str, str], path: str) -> Iterator[FieldError]:
    if len(parameters) > PARAMETERS_LIMIT:
        yield FieldError.too_long(path, PARAMETERS_LIMIT)
        return
    if "" in parameters:
        yield FieldError.invalid(path, "", "field can not be empty.")
    if size_bytes(parameters) > PARAMETERS_LIMIT_BYTES:
        yield FieldError.too_long(path, PARAMETERS_LIMIT_BYTES)


def size_bytes(texts: Mapping[str, str]) -> int:
    """What a map of strings weighs: keys and values in UTF-8."""
    return sum(len(key.encode()) + len(value.encode()) for key, value in texts.items())
