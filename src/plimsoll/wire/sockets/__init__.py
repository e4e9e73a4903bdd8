"""Why an address cannot be listened on (`listening`) or reached (`connecting`), in words."""
