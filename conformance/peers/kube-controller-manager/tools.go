//go:build tools

// Package tools pins the peer that conformance runs beside Plimsoll.
package tools

import _ "k8s.io/kubernetes/cmd/kube-controller-manager"
