//go:build tools

// Package tools pins the peer that conformance runs beside Plimsoll.
package tools

import _ "github.com/kubernetes-csi/external-resizer/cmd/csi-resizer"
