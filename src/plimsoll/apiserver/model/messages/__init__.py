"""Protobuf messages of the API: `wire` is the grammar, `values` the leaves, `plans` the messages.

Start in `plimsoll.apiserver.model.protobuf`, which is what the rest of the code uses.
"""
