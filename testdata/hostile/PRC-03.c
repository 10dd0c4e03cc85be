#define ID "PRC-03"
#include "probe.h"
// Files that reveal kernel secrets: success means that there is content, ENODATA that there is
// none, or only a list in which every address is zero.
int main(void) { static const char *const f[] = {"kcore", "kmsg", "kallsyms", "timer_list", "keys", "key-users", "sched_debug", "slabinfo", "vmallocinfo", "kpageflags", "iomem"}; char p[80], n[80]; static char b[1 << 16];
	for (unsigned i = 0; i < sizeof f / sizeof *f; i++) { snprintf(p, 80, "/proc/%s", f[i]); snprintf(n, 80, "read %s", f[i]); errno = 0; long r = open(p, O_RDONLY | O_NONBLOCK);
		if (r >= 0) { int fd = r; r = read(fd, b, sizeof b - 1); if (r >= 0) { b[r] = 0; int zeros = !strcmp(f[i], "kallsyms") || !strcmp(f[i], "iomem"), tells = !zeros && r > 0;
				for (char *l = zeros ? strtok(b, "\n") : 0; l && !tells; l = strtok(0, "\n")) tells = !!strchr("123456789abcdef", l[strspn(l, " 0-")]);
				if (tells) printf("%s tells: %.200s\n", f[i], b); r = tells ? 0 : (errno = ENODATA, -1); } close(fd); }
		report(n, r); } return 0; }
