// Package bpf compiles profiles into the filters that the kernel loads, with
// libseccomp, and proves each before handing it out. It is the only package of
// ours that needs cgo for seccomp, so only the agent imports it.
package bpf
