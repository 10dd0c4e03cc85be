#define ID "SEC-14"
#include "probe.h"
int main(void) { TRY("userfaultfd", syscall(SYS_userfaultfd, 1L)); TRY("device", open("/dev/userfaultfd", O_RDWR)); return 0; }
