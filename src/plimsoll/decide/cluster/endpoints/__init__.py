"""The addresses behind services: `slices` decides EndpointSlices, `subsets` the older Endpoints."""
