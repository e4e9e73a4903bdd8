"""Tables of the Kubernetes API as data: resources, columns, schemas, protobuf numbers."""
