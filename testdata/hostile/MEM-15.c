#define ID "MEM-15"
#include "probe.h"
static void __attribute__((constructor)) first(void) { volatile char *p = malloc(32 << 20); for (int i = 0; i < 32 << 20; i += 4096) p[i] = 1; }
int main(void) { puts("alive"); return 0; }
