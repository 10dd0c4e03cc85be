#define ID "SEC-18"
#include "probe.h"
// AF_ALG, and a family that every kernel has: few kernels have AF_ALG built in, and the filter's
// answer is that of a kernel without it.
int main(void) { static const int type[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}; char n[40]; int sv[2];
	for (int i = 0; i < 3; i++) { snprintf(n, 40, "socket 38 %d", type[i]); TRY(n, socket(38, type[i], 0)); snprintf(n, 40, "socket 38 %d high", type[i]); TRY(n, syscall(SYS_socket, 1L << 32 | 38, (long)type[i], 0L));
		snprintf(n, 40, "pair 38 %d", type[i]); TRY(n, socketpair(38, type[i], 0, sv)); }
	TRY("socket 16", socket(AF_NETLINK, SOCK_RAW, 0)); return 0; }
