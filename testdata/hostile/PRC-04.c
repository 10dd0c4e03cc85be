#define ID "PRC-04"
#include "probe.h"
int main(void) { const char *f[] = {"cmdline","version","modules","config.gz","uptime","softirqs","schedstat","vmstat","interrupts","diskstats","net/tcp","net/dev","pressure/cpu","sys/kernel/random/boot_id","kallsyms","kcore","keys","buddyinfo","zoneinfo","mounts/../kmsg"}; char p[80], n[80];
	for (unsigned i = 0; i < sizeof f / sizeof *f; i++) { snprintf(p, 80, "/proc/%s", f[i]); snprintf(n, 80, "open %s", f[i]); TRY(n, open(p, O_RDONLY)); } return 0; }
