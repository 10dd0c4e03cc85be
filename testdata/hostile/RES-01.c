#define ID "RES-01"
#include "probe.h"
#include <ftw.h>
#include <sys/statvfs.h>
// Every name below the places a run can write to, and every marked one elsewhere.
static int see(const char *path, const struct stat *st, int kind, struct FTW *f) {
	if (!strncmp(path, "/proc", 5)) return FTW_SKIP_SUBTREE;
	int mine = !strncmp(path, "/box/", 5) || !strncmp(path, "/tmp/", 5) || !strncmp(path, "/dev/shm/", 9);
	if (mine || strstr(path, "RESIDUE")) { printf("found "); for (; *path; path++) putchar(*path < ' ' || *path == '\177' ? '?' : *path); putchar('\n'); }
	return FTW_CONTINUE;
}
int main(void) { struct statvfs s;
	TRY("walk", nftw("/", see, 20, FTW_PHYS | FTW_ACTIONRETVAL));
	if (!statvfs("/tmp", &s)) printf("inodes %ld\n", (long)(s.f_files - s.f_ffree)); // an open file without a name counts too
	return 0; }
