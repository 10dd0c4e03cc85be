#define ID "MEM-02"
#include "probe.h"
int main(void) { void *p = mmap(0, 64UL << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); report("reserve", p == MAP_FAILED ? -1 : 0); return 0; }
