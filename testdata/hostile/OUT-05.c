#define ID "OUT-05"
#include "probe.h"
int main(void) { puts("main"); fflush(stdout); if (!fork()) { setsid(); if (!fork()) for (;;) sleep(1); _exit(0); } return 0; }
