#define ID "FS-06"
#include "probe.h"
int main(void) { DIR *d = opendir("/proc/self/fd"); struct dirent *e; struct stat st; if (!d) { perror("fd"); return 3; }
	while ((e = readdir(d))) { int n; if (e->d_name[0] == '.') continue; n = atoi(e->d_name); if (n == dirfd(d)) continue;
		printf("fd %d\n", n); if (!fstat(n, &st) && S_ISDIR(st.st_mode)) printf("directory %d\n", n); }
	return 0; }
