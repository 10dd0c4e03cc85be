#define ID "SEC-08"
#include "probe.h"
// The kernel reads 32 bits of the request: a filter that compares 64 bits and allows what it does
// not find would let these through (CVE-2019-10063).
#define HIGH(x) ((x) | 0x100000000UL)
int main(void) { int p[2], one = 1; char c = 'x'; pipe(p);
	TRY("async", syscall(SYS_ioctl, p[0], 0x5452UL, &one)); TRY("async high", syscall(SYS_ioctl, p[0], HIGH(0x5452UL), &one)); TRY("async all", syscall(SYS_ioctl, p[0], 0xffffffff00005452UL, &one));
	TRY("sti high", syscall(SYS_ioctl, 0, HIGH(0x5412UL), &c)); TRY("linux high", syscall(SYS_ioctl, 0, HIGH(0x541cUL), &c)); return 0; }
