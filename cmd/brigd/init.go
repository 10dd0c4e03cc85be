package main

import (
	"os"

	"github.com/opencontainers/runc/libcontainer"
	_ "github.com/opencontainers/runc/libcontainer/nsenter" // enters the namespaces before Go starts

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// libcontainer starts a container by executing this binary as "init", and the
// image store executes it as "admit" to read archives in the admission child. Both
// must take over before any other code of brigd runs.
func init() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case "init":
		libcontainer.Init() // does not return
	case archive.AdmitArg:
		os.Exit(archive.AdmitMain(os.Stdin, os.Stdout))
	}
}
