#define ID "FS-33"
#include "probe.h"
// Evicts pages that others read from the page cache: a neighbour is then charged for reading them
// again, and can tell that they had been there.
int main(void) {
	int f = open("/etc/passwd", O_RDONLY); char *m = mmap(0, 4096, PROT_READ, MAP_SHARED, f, 0);
	volatile char c = *m; (void)c;
	TRY("dontneed", posix_fadvise(f, 0, 0, POSIX_FADV_DONTNEED) ? (errno = EINVAL, -1) : 0);
	TRY("dontneed high", syscall(SYS_fadvise64, f, 0L, 0L, 1UL << 32 | POSIX_FADV_DONTNEED));
	TRY("pageout", madvise(m, 4096, 21)); TRY("cold", madvise(m, 4096, 20)); TRY("collapse", madvise(m, 4096, 25)); TRY("populate", madvise(m, 4096, 22));
	TRY("pageout high", syscall(SYS_madvise, m, 4096L, 1UL << 32 | 21));
	TRY("sequential", posix_fadvise(f, 0, 0, POSIX_FADV_SEQUENTIAL)); /* this one is allowed */
	return 0; }
