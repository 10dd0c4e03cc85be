#define ID "RES-03"
#include "probe.h"
// Other processes: those in /proc, with their state, and the numbers that accept a signal.
int main(void) { DIR *d = opendir("/proc"); struct dirent *e; char p[300], b[1024], *s;
	while ((e = readdir(d))) { int n = atoi(e->d_name); if (n <= 1 || n == getpid()) continue;
		snprintf(p, 300, "/proc/%d/stat", n); int f = open(p, O_RDONLY), len = f < 0 ? 0 : read(f, b, 1023); if (len < 0) len = 0; b[len] = 0; close(f);
		if ((s = strrchr(b, ')'))) { long threads = 0; char state = '?'; sscanf(s + 2, "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state, &threads); printf("process state %c threads %ld\n", state, threads); } }
	int signals = 0; for (int n = 2; n < 5000; n++) if (n != getpid() && (!kill(n, 0) || errno != ESRCH)) signals++;
	printf("signals reach %d others\n", signals); return 0; }
