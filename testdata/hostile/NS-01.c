#define ID "NS-01"
#include "probe.h"
int main(int c, char **v) {
	DIR *d = opendir("/proc"); struct dirent *e; char p[300], b[200];
	while (d && (e = readdir(d))) {
		if (*e->d_name < '1' || *e->d_name > '9') continue;
		snprintf(p, sizeof p, "/proc/%s/cmdline", e->d_name);
		int f = open(p, O_RDONLY), n = read(f, b, sizeof b - 1);
		b[n > 0 ? n : 0] = 0; printf("sees %s\n", b); close(f);
	}
	snprintf(p, sizeof p, "/proc/%s", v[1]);
	TRY("look at the canary", access(p, F_OK));
	TRY("signal 0 to the canary", kill(atoi(v[1]), 0));
	return 0;
}
