#define ID "FS-13"
#include "probe.h"
#include <sys/statvfs.h>
// Writes alternately to the three places that share one limit, until an error or 8 MiB.
int main(void) {
	static const char *const path[] = {"/box/a", "/tmp/b", "/dev/shm/c"};
	static char page[65536]; int f[3]; struct statvfs v; long n = 0, r, left;
	for (int i = 0; i < 3; i++) f[i] = open(path[i], O_CREAT | O_WRONLY, 0600);
	statvfs("/box", &v); left = v.f_bfree;
	printf("total %ld\n", (long)(v.f_blocks * v.f_bsize));
	while (n < 2048 * 4096 && (r = write(f[n / v.f_bsize % 3], page, v.f_bsize)) > 0) n += r;
	report("write", r);
	printf("off by %ld pages\n", left - n / (long)v.f_bsize);
	return 0;
}
