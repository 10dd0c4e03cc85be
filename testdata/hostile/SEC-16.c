#define ID "SEC-16"
#include "probe.h"
int main(void) { static long a[16]; ((int *)a)[0] = 1; ((int *)a)[1] = 112; puts("begin"); fflush(stdout); TRY("perf", syscall(SYS_perf_event_open, a, 0L, -1L, -1L, 0L)); return 0; }
