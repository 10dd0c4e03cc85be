#define ID "PRC-02"
#include "probe.h"
// Files of /proc that make the kernel do something when written to.
int main(void) { static const char *const f[] = {"sysrq-trigger", "timer_stats", "mtrr", "irq/default_smp_affinity", "bus/pci/00/00.0", "fs/nfsd/exports", "fs/jbd2", "scsi/scsi", "acpi/wakeup", "latency_stats",
		"sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/sysrq", "sys/vm/drop_caches", "sys/vm/compact_memory", "sys/fs/binfmt_misc/register", "sys/net/ipv4/route/flush"}; char p[80], n[80];
	for (unsigned i = 0; i < sizeof f / sizeof *f; i++) { snprintf(p, 80, "/proc/%s", f[i]); snprintf(n, 80, "write %s", f[i]); TRY(n, open(p, O_WRONLY)); } return 0; }
