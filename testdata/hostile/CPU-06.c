#define ID "CPU-06"
#include "probe.h"
int main(void) { for (int s = 1; s < 65; s++) signal(s, SIG_IGN); puts("ignored"); fflush(stdout); for (;;); }
