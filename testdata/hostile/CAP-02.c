#define ID "CAP-02"
#include "probe.h"
#include <pthread.h>
static void *idle(void *x) { sleep(1); return 0; }
int main(void) { pthread_t t[8]; for (int i = 0; i < 8; i++) if (pthread_create(&t[i], 0, idle, 0)) return 3;
	DIR *d = opendir("/proc/self/task"); struct dirent *e; char p[300], l[256]; int n = 0;
	while ((e = readdir(d))) { if (e->d_name[0] == '.') continue; n++; snprintf(p, 300, "/proc/self/task/%s/status", e->d_name); FILE *f = fopen(p, "r");
		while (f && fgets(l, 256, f)) if (!strncmp(l, "NoNewPrivs", 10) || !strncmp(l, "Seccomp", 7)) fputs(l, stdout); if (f) fclose(f); }
	printf("threads %d\n", n); return 0; }
