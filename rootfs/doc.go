// Package rootfs turns untrusted tarballs into directory trees that a cell can use as its root,
// stores them by digest, and builds brig's own images.
//
// An import has three stages. The agent pipes the bytes of the archive, without parsing them, into
// a child process without privileges (AdmitMain). The child decompresses the archive, applies the
// admission policy (admit) and writes the admitted members in brig's canonical format. The agent
// decodes that format (decoder), which is the only thing that root parses, and writes the tree
// through directory handles (tree). The digest of the original archive names the result. The store
// lists an image only when it is complete.
//
// Every member of a stored tree belongs to root and is writable by root alone, whatever the
// archive said: no slot can alter what another one reads.
package rootfs
