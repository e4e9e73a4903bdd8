//go:build tools

// Package tools pins the peer that conformance runs beside Plimsoll.
package tools

import _ "go.etcd.io/etcd/server/v3"
