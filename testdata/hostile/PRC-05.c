#define ID "PRC-05"
#include "probe.h"
// Everything about a process that only its owner may see: of PID 1, of the parent, and of every
// visible process of another user.
static void look(const char *pid) { static const char *const f[] = {"environ", "mem", "maps", "auxv", "stack", "syscall", "root", "cwd", "exe", "fd", "ns/user", "map_files"}; char p[80], n[80], b[256];
	for (unsigned i = 0; i < sizeof f / sizeof *f; i++) { snprintf(p, 80, "/proc/%s/%s", pid, f[i]); snprintf(n, 80, "%s of %s", f[i], pid); errno = 0;
		TRY(n, i < 6 ? open(p, O_RDONLY) : i == 9 || i == 11 ? open(p, O_RDONLY | O_DIRECTORY) : readlink(p, b, sizeof b)); } }
int main(void) { char p[300], me[16]; struct dirent *e; struct stat st; DIR *d = opendir("/proc"); int others = 0; look("1"); snprintf(p, 16, "%d", getppid()); if (strcmp(p, "1")) look(p);
	while (d && (e = readdir(d))) { snprintf(p, 300, "/proc/%s", e->d_name); if (atoi(e->d_name) > 1 && !stat(p, &st) && st.st_uid != getuid()) { others++; look(e->d_name); } }
	printf("others %d\n", others); return 0; }
