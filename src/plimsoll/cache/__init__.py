"""Observe: turn a watch into typed snapshots. Start with `watch`, one pure step; `informer` carries
it out, `store` holds the objects, `assume` lays our own writes over them."""
