"""Programs to start from; tests run them."""
