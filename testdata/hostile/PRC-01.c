#define ID "PRC-01"
#include "probe.h"
#include <limits.h>
// Opens every file below /proc/sys for writing, and writes to none.
static void walk(const char *dir) { char p[PATH_MAX], n[PATH_MAX + 8]; struct dirent *e; struct stat st; DIR *d = opendir(dir); if (!d) return;
	while ((e = readdir(d))) { if (e->d_name[0] == '.') continue; snprintf(p, sizeof p, "%s/%s", dir, e->d_name); if (lstat(p, &st)) continue;
		if (S_ISDIR(st.st_mode)) { walk(p); continue; }
		snprintf(n, sizeof n, "write %s", p); int f = TRY(n, open(p, O_WRONLY)); if (f >= 0) close(f); }
	closedir(d); }
int main(void) { int d = TRY("list", open("/proc/sys", O_RDONLY | O_DIRECTORY)); if (d >= 0) close(d); walk("/proc/sys"); return 0; }
