// Package rootfs stores images: directory trees that a cell can use as its root, by the digest of
// the archives that they came from.
//
// An import reads the archive with package archive, where the admission child does the parsing. The
// store lists an image only when its tree is complete and on disk.
//
// Every member of a stored tree belongs to root and is writable by root alone, whatever the
// archive said: no slot can alter what another one reads.
package rootfs
