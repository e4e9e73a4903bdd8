"""What must have come about once nothing has gone wrong for a while; `everything.py` asks all."""
