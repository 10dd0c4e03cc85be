#define ID "SEC-17"
#include "probe.h"
int main(int c, char **v) { puts("begin"); fflush(stdout); TRY("add_key", syscall(SYS_add_key, "user", "brig", "x", 1L, -1L)); TRY("keyctl", syscall(SYS_keyctl, 0L, -1L, 0L)); TRY("request_key", syscall(SYS_request_key, "user", "brig", 0L, -1L)); return 0; }
