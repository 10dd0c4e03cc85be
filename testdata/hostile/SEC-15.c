#define ID "SEC-15"
#include "probe.h"
int main(void) { static long a[32]; ((int *)a)[0] = 1; ((int *)a)[1] = 4; ((int *)a)[2] = 4; ((int *)a)[3] = 1; puts("begin"); fflush(stdout); TRY("bpf", syscall(SYS_bpf, 0L, a, 48L)); return 0; }
