"""The report of `plimsoll simulate`: `contents` says what is in it, `text`, `page` and `document`
write it down."""
