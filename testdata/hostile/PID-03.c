#define ID "PID-03"
#include "probe.h"
int main(void) { puts("main"); fflush(stdout); if (!fork()) { setsid(); close(0); close(1); close(2); if (!fork()) for (;;) sleep(1); _exit(0); } return 0; }
