//go:build tools

// Package helmtool names the helm that tests use, so that go.mod keeps what it needs. Its dependencies clash with the control plane's.
package helmtool

import _ "helm.sh/helm/v3/cmd/helm"
