"""How stored objects look to a client; `requested` picks the view that a request asks for."""
