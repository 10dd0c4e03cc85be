#define ID "FS-14"
#include "probe.h"
// Creates empty files alternately in the three places that share one limit, until an error or 200.
int main(void) {
	static const char *const dir[] = {"/box", "/tmp", "/dev/shm"};
	char p[40]; int n = 0, f;
	for (; n < 200; n++) { snprintf(p, 40, "%s/%d", dir[n % 3], n); if ((f = open(p, O_CREAT | O_EXCL | O_WRONLY, 0600)) < 0) break; close(f); }
	report("create", n < 200 ? -1 : 0);
	printf("created %d\n", n);
	return 0;
}
