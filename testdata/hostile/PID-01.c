#define ID "PID-01"
#include "probe.h"
#include <time.h>
int main(void) { int n = 0; time_t end = time(0) + 1; pid_t p; while ((p = fork()) > 0) n++; if (!p) { pause(); _exit(0); } report("fork", p); printf("children %d\n", n); return 0; }
