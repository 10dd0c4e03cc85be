package archive

import "testing"

// IMG-30: if a child dies for lack of memory, the archive is over its bounds, whatever message its
// runtime prints. Any other death of a child is a failure of brig.
func TestDeathForLackOfMemoryIsAnArchiveError(t *testing.T) {
	for text, want := range map[string]string{
		"fatal error: runtime: out of memory\n\ngoroutine 1":                                     kindTooLarge,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n": kindTooLarge,
		"runtime: failed to create new OS thread (have 5 already; errno=11)\n":                   kindTooLarge,
		"SIGSEGV: segmentation violation\nPC=0x43581d m=0 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0xabef80 m=0 " +
			"mp=0xabff80 [idle]:\nruntime.(*spanQueue).tryDrain(0x7ffd00000400?)\n": kindTooLarge,
		"SIGSEGV: segmentation violation\nPC=0x43581d m=0 sigcode=1 addr=0x0\n\ngoroutine 1 gp=0xabef80 m=0 " +
			"mp=0xabff80:\nmain.main()\n": kindInternal,
		"panic: runtime error: index out of range\n": kindInternal,
	} {
		if got := readReport(text).kind; got != want {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}
