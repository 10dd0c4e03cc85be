#define ID "FIO-05"
#include "probe.h"
int main(void) { signal(SIGXFSZ, SIG_IGN); int f = open("sparse", O_CREAT | O_RDWR, 0600); write(f, "x", 1); TRY("extend", ftruncate(f, 1L << 40)); close(open("plain", O_CREAT | O_WRONLY, 0600)); return 0; }
