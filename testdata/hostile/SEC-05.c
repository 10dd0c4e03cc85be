#define ID "SEC-05"
#include "probe.h"
// getpid with its number in the x32 ABI; a kernel without x32 answers ENOSYS.
int main(void) { puts("begin"); fflush(stdout); syscall(0x40000000L | SYS_getpid); puts("after"); return 0; }
