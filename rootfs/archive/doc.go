// Package archive turns untrusted tarballs into directory trees.
//
// It has three stages. Unpack pipes the bytes of the archive, without parsing them, into a child
// process without privileges (AdmitMain). The child decompresses the archive, applies the admission
// policy (admit) and writes the admitted members in brig's canonical format. Unpack decodes that
// format (decoder), which is the only thing that root parses, and writes the tree through directory
// handles (tree).
package archive
