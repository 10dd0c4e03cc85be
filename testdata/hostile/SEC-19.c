#define ID "SEC-19"
#include "probe.h"
int main(void) { static const int type[] = {1, 2, 3, 5}; static const int proto[] = {0, 132, 262}; int sv[2];
	for (int d = 0; d < 64; d++) for (int t = 0; t < 4; t++) { for (int p = 0; p < 3; p++) if (socket(d, type[t], proto[p]) >= 0) printf("socket %d\n", d); else printf("refused %s\n", strerrorname_np(errno));
		if (!socketpair(d, type[t], 0, sv)) { printf("pair %d\n", d); close(sv[0]); close(sv[1]); } } puts("swept"); return 0; }
