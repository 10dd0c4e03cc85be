#define ID "SEC-04"
#include "probe.h"
// getpid through the 32-bit entry, number 20.
int main(void) { long r; puts("begin"); fflush(stdout); __asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory", "r8", "r9", "r10", "r11"); puts(r == getpid() ? "after" : "other"); return 0; }
