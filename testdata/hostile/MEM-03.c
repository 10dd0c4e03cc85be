#define ID "MEM-03"
#include "probe.h"
// Fills the tmpfs under /tmp and /dev/shm, 96 MiB in all.
static char block[1 << 20];
int main(void) { const char *d[] = {"/tmp/fill", "/dev/shm/fill"}; for (int i = 0; i < 2; i++) { int f = open(d[i], O_CREAT | O_WRONLY | O_TRUNC, 0600); for (int n = 0; n < 48; n++) if (write(f, block, sizeof block) != sizeof block) { report("write", -1); return 0; } } puts("all written"); return 0; }
