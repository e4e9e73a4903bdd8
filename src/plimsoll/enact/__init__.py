"""Act: carry out plans. Start with `events`."""
