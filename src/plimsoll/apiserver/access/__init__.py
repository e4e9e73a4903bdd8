"""Who asks, and what they may do: users, tokens, roles. Start with `users.py` and `attributes.py`.

Authentication happens where requests come in: the HTTP side reads tokens and certificates, the
in-process transport carries its user with it. Authorization happens in the server, for both.
"""
