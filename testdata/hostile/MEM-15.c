#define ID "MEM-15"
#include "probe.h"
static void __attribute__((constructor)) first(void) {
	char self[512] = "";
	readlink("/proc/self/exe", self, sizeof self - 1);
	if (!strstr(self, ID)) return; // all probes are one program
	volatile char *p = malloc(32 << 20); for (int i = 0; i < 32 << 20; i += 4096) p[i] = 1;
}
int main(void) { puts("alive"); return 0; }
