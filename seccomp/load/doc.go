// Package load reads profiles that people write: our YAML, and the linux.seccomp
// object of an OCI bundle. It parses strangers' text, so the agent, which holds
// root, does not import it: the command line parses, and sends the agent the
// JSON form, which seccomp.Decode checks again.
package load
