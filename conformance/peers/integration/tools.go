//go:build tools

// Package tools pins the suites that run with our scheduler in the place of theirs.
package tools

import _ "k8s.io/kubernetes/test/integration/util"
