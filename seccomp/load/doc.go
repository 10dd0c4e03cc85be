// Package load reads profile files: our YAML format, and the linux.seccomp object of
// an OCI bundle. Profiles of callers are parsed by the command line, which sends the agent the JSON
// form; seccomp.Decode checks that again. brigd, which runs as root, uses this package only for the
// operator's own files in its profile directory.
package load
