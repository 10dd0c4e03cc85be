#define ID "RES-06"
#include "probe.h"
// The key of the previous run, in every ring in which it could have been left.
int main(void) { puts("begin"); fflush(stdout); char b[80] = "";
	long ring[] = {-3, -4, -5, syscall(SYS_keyctl, 22L, -1L, -2L)}; const char *n[] = {"search session", "search user", "search user session", "search persistent"};
	for (int i = 0; i < 4; i++) { long k = TRY(n[i], syscall(SYS_keyctl, 10L, ring[i], "user", "RESIDUE", 0L)); if (k >= 0 && syscall(SYS_keyctl, 11L, k, b, 79L) > 0) printf("key says %s\n", b); }
	return 0; }
