"""One CSI server: identity, controller and node services in front of a backend.

Start with `backends/protocol`, what a backend must do; `controller` and `node` hold the rules that
all backends share: names, idempotence, capacity, records.
"""
