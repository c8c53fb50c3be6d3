//go:build tools

// Package tools names the programs of this module, so that it pins what they need.
package tools

import (
	_ "github.com/mongodb/mongo-tools/mongodump/main"
	_ "github.com/mongodb/mongo-tools/mongorestore/main"
)
