"""How long HTTP messages are, for lines that sit between a client and a server."""

HEAD_END = b"\r\n\r\n"


def missing_bytes(begun: bytes) -> int:
    """How many bytes of an answer are to come; servers send its head in one piece."""
    head, end, body = begun.partition(HEAD_END)
    assert end, "an answer that begins with half of its head"
    return body_bytes(head) - len(body)


def body_bytes(head: bytes) -> int:
    for line in head.decode().splitlines():
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    return 0
