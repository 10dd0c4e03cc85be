// Package rootfs turns tarballs nobody trusts into directory trees a cell can
// use as its root, keeps them by digest, and builds brig's own.
//
// An archive passes three hands. The agent pipes its bytes, unread, into a child
// without privileges (AdmitMain), which decompresses it, applies the admission
// policy (admit) and writes what is left in a format of our own. The agent
// decodes that (decoder), which is the only thing root ever parses, and writes
// the tree through directory handles (tree). A digest of the bytes as given
// names the result; nothing is listed in the store before it is whole.
//
// Every member of a stored tree belongs to root and is writable by root alone,
// whatever the archive said: no slot can alter what another one reads.
package rootfs
