// Package bpf compiles profiles into the filters that the kernel loads, with
// libseccomp, and verifies each against its model before it returns it. It is our
// only package that needs cgo for seccomp, so only the agent imports it.
package bpf
