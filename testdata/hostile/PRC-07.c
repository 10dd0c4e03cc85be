#define ID "PRC-07"
#include "probe.h"
int main(void) { const char *f[] = {"powercap","class/thermal","class/dmi","firmware","kernel/debug","kernel/tracing","kernel/security","fs/cgroup","kernel"}; char p[80], n[80];
	for (unsigned i = 0; i < sizeof f / sizeof *f; i++) { snprintf(p, 80, "/sys/%s", f[i]); snprintf(n, 80, "open %s", f[i]); TRY(n, open(p, O_RDONLY)); } return 0; }
