#define ID "SEC-41"
#include "probe.h"
#include <sys/prctl.h>
#include <linux/falloc.h>
#include <linux/memfd.h>
// Single arguments of calls that programs otherwise need.
int main(void) {
	int p[2], f = open("f", O_CREAT | O_RDWR, 0600); char *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ftruncate(f, 8192);
	TRY("notification pipe", syscall(SYS_pipe2, p, (long)O_EXCL)); TRY("notification pipe too", syscall(SYS_pipe2, p, (long)(O_EXCL | O_CLOEXEC))); TRY("packet pipe", syscall(SYS_pipe2, p, (long)O_DIRECT));
	TRY("hole", fallocate(f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096)); TRY("beyond the end", fallocate(f, FALLOC_FL_KEEP_SIZE, 0, 4096));
	TRY("huge memfd", syscall(SYS_memfd_create, "m", (long)MFD_HUGETLB));
	TRY("name of memory", prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, m, 4096, "name")); TRY("parent's death", prctl(PR_SET_PDEATHSIG, SIGKILL)); TRY("no huge pages", prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	TRY("pipe", pipe2(p, O_CLOEXEC)); /* this one is allowed */
	return 0; }
