//go:build tools

// Package tools pins the peer that conformance runs beside Plimsoll.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
