#define ID "FIO-07"
#include "probe.h"
// The writer continues for half a second after the program has ended.
int main(void) { int f = open("grow", O_CREAT | O_WRONLY | O_APPEND, 0600), p[2]; pipe(p); if (!fork()) { setsid(); write(f, "y", 1); write(p[1], "y", 1); for (int i = 0; i < 500; i++) { write(f, "y", 1); usleep(1000); } _exit(0); } char c; read(p[0], &c, 1); TRY("writer", 0); return 0; }
