#define ID "MEM-01"
#include "probe.h"
int main(void) { for (int i = 0; ; i++) { char *p = mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); if (p == MAP_FAILED) return 4; memset(p, 1, 1 << 20); } }
