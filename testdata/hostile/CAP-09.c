#define ID "CAP-09"
#include "probe.h"
int main(void) { char l[256]; FILE *f = fopen("/proc/self/status", "r"); while (f && fgets(l, 256, f)) if (!strncmp(l, "Sig", 3) && l[3] != 'Q' || !strncmp(l, "ShdPnd", 6)) fputs(l, stdout); return 0; }
