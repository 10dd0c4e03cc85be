package main

import (
	"fmt"
	goruntime "runtime"
)

func versionCommand(c *console, args []string) int {
	f := c.flags("version", `
Print the version of brig.

Usage:
  brig version

Example:
  brig version`)
	if code, done := c.parse(f, args); done {
		return code
	}
	fmt.Fprintf(c.stdout, "brig %s %s/%s %s\n", version, goruntime.GOOS, goruntime.GOARCH, goruntime.Version())
	return 0
}
