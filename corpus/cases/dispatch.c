// All probes as one program: the name of its file selects the probe. /proc/self/exe comes first,
// because a probe may execute itself under another argv[0].
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROBE(name, entry) int entry();
#include "probes.inc"
#undef PROBE

static const struct { const char *name; int (*entry)(); } probes[] = {
#define PROBE(name, entry) {name, entry},
#include "probes.inc"
};

static int (*find(const char *path))() {
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	for (unsigned i = 0; i < sizeof probes / sizeof *probes; i++)
		if (!strncmp(base, probes[i].name, strlen(probes[i].name))) return probes[i].entry;
	return NULL;
}

int main(int c, char **v, char **e) {
	char path[PATH_MAX] = "";
	int (*entry)() = NULL;
	if (readlink("/proc/self/exe", path, sizeof path - 1) > 0) entry = find(path);
	if (!entry && c > 0) entry = find(v[0]);
	if (!entry) {
		fprintf(stderr, "%s is no probe\n", c > 0 ? v[0] : path);
		return 127;
	}
	return entry(c, v, e);
}
