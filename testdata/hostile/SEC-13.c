#define ID "SEC-13"
#include "probe.h"
int main(void) { TRY("setup", syscall(SYS_io_uring_setup, 4L, 0L)); TRY("enter", syscall(SYS_io_uring_enter, -1L, 0L, 0L, 0L, 0L, 0L)); TRY("register", syscall(SYS_io_uring_register, -1L, 0L, 0L, 0L)); return 0; }
