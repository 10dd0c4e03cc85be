#define ID "OUT-02"
#include "probe.h"
static char block[1 << 16];
int main(void) { memset(block, 'x', sizeof block); for (int i = 0; i < 64; i++) if (write(2, block, sizeof block) < 0) return 1; write(1, "flood over\n", 11); return 0; }
