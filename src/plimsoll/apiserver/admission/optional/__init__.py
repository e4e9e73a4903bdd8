"""Plugins that are off unless `--enable-admission-plugins` names them."""
