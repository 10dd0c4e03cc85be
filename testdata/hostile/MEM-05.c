#define ID "MEM-05"
#include "probe.h"
int main(void) { for (int i = 0; i < 10; i++) if (!fork()) { char *p = malloc(16 << 20); memset(p, 1, 16 << 20); pause(); } while (wait(0) > 0); return 0; }
