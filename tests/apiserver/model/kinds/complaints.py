"""How the tests of kinds look at validation: reasons and fields, in any order."""

from collections import Counter
from collections.abc import Iterable

from plimsoll.apiserver.model.field_errors import FieldError


def complaints(errors: Iterable[FieldError]) -> Counter[tuple[str, str]]:
    return Counter((str(e.type).removeprefix("FieldValue"), e.field) for e in errors)
