#define ID "SEC-09"
#include "probe.h"
#include <sys/personality.h>
#define HIGH(x) ((unsigned long)(x) | 0x500000000UL)
int main(void) { int f = open("lock", O_CREAT | O_RDWR, 0600); struct flock l = {F_WRLCK};
	TRY("socket", syscall(SYS_socket, AF_INET, SOCK_STREAM, 0)); TRY("socket high", syscall(SYS_socket, HIGH(AF_INET), SOCK_STREAM, 0)); TRY("socket type high", syscall(SYS_socket, AF_INET, HIGH(SOCK_STREAM), 0));
	TRY("fcntl lease", syscall(SYS_fcntl, f, 1024UL, F_WRLCK)); TRY("fcntl lease high", syscall(SYS_fcntl, f, HIGH(1024), F_WRLCK)); TRY("fcntl owner high", syscall(SYS_fcntl, f, HIGH(F_SETOWN), (long)getpid()));
	TRY("personality", syscall(SYS_personality, 0x400000L)); TRY("personality high", syscall(SYS_personality, HIGH(0x400000)));
	TRY("prctl subreaper", syscall(SYS_prctl, 36L, 1L, 0L, 0L, 0L)); return 0; }
