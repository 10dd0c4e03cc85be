// Package recipes has the built-in recipes of images as files. Package build reads them. The image
// store, which the agent is linked with, only needs to know which names there are.
package recipes

import (
	"embed"
	"io/fs"
)

// Files are the recipes, NAME.yaml, and the lock files of their npm packages, npm/NAME.json.
//
//go:embed *.yaml npm/*.json
var Files embed.FS

// Has reports whether there is a built-in recipe of that name.
func Has(name string) bool {
	_, err := fs.Stat(Files, name+".yaml")
	return err == nil
}
