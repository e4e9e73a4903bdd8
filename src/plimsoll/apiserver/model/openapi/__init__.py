"""OpenAPI documents made from the table of kinds: version 3 (`document`), version 2 (`swagger`)."""
