// All probes as one program: the name of its file selects the probe. /proc/self/exe comes first,
// because a probe may execute itself under another argv[0].
//
// With FROM_SOURCE it is the interpreter of a test image (TestHostileFromTemplates): its source is a
// file in /box with the name of the probe. The trial of its template has the name "ready".
#include <dirent.h>
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

#ifdef FROM_SOURCE
static int from_source(int c, char **v, char **e) {
	int (*entry)() = c > 1 ? find(v[1]) : NULL;
	if (c > 1 && !strcmp(v[1], "ready")) return puts("ready") < 0;
	if (entry) { // the probes expect their arguments there
		v[1] = v[0];
		return entry(c - 1, v + 1, e);
	}
	DIR *box = opendir("/box"); // a probe has executed itself with other arguments
	for (struct dirent *f; box && !entry && (f = readdir(box));) entry = find(f->d_name);
	if (box) closedir(box);
	return entry ? entry(c, v, e) : 127;
}
#endif

int main(int c, char **v, char **e) {
	char path[PATH_MAX] = "";
	int (*entry)() = NULL;
#ifdef FROM_SOURCE
	return from_source(c, v, e);
#endif
	if (readlink("/proc/self/exe", path, sizeof path - 1) > 0) entry = find(path);
	if (!entry && c > 0) entry = find(v[0]);
	if (!entry) {
		fprintf(stderr, "%s is no probe\n", c > 0 ? v[0] : path);
		return 127;
	}
	return entry(c, v, e);
}
