"""Why a patch cannot be applied, in the codes and reasons that a client sees."""


class PatchError(Exception):
    """The patch is refused; the server turns it into a Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


def malformed(message: str) -> PatchError:
    """The patch is not one: its own shape is wrong."""
    return PatchError(400, "BadRequest", message)


def inapplicable(message: str) -> PatchError:
    """The patch is well formed but does not fit this document."""
    return PatchError(422, "Invalid", message)


def too_large(message: str) -> PatchError:
    return PatchError(413, "RequestEntityTooLarge", message)
