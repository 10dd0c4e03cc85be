#define ID "FS-12"
#include "probe.h"
#include <sys/statvfs.h>
// Lists every mount that can be written to, and which options it lacks; asks statvfs about /proc,
// because one mount covers another.
int main(void) {
	static const char *const need[] = {"nosuid", "nodev", "size=", "nr_inodes="};
	char line[4096], point[256], opts[512], type[64], super[512]; FILE *f = fopen("/proc/self/mountinfo", "r"); struct statvfs v;
	while (fgets(line, sizeof line, f)) {
		char *dash = strstr(line, " - ");
		if (!dash || sscanf(line, "%*s %*s %*s %*s %255s %511s", point, opts) != 2 || sscanf(dash, " - %63s %*s %511s", type, super) != 2) continue;
		if (strncmp(opts, "rw", 2) || !strcmp(type, "proc")) continue;
		printf("can write %s", point);
		for (int i = 0; i < 4; i++) if (!strstr(i < 2 ? opts : super, need[i])) printf(" lacks %s", need[i]);
		puts("");
	}
	statvfs("/proc", &v); puts(v.f_flag & ST_RDONLY ? "proc is read-only" : "proc is writable");
	return 0;
}
