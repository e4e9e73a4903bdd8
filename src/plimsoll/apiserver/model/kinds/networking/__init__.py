"""Rules of the kinds by which services are reached: Service, Endpoints, EndpointSlice."""
