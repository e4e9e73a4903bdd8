"""Act: carry out plans. Start with `enactor`; `events` tells users what happened."""
