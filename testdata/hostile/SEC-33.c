#define ID "SEC-33"
#include "probe.h"
// The first code of a static program's own: the function that selects an implementation during
// relocation (ifunc), before the C library is initialized, and the one that runs before main. The
// filter's answers must apply already there.
static long answer[3];
static __attribute__((always_inline)) inline long unix_socket(void) { long r; register long a __asm__("r10") = 0;
	__asm__ volatile("syscall" : "=a"(r) : "a"(41L), "D"(1L), "S"(1L), "d"(0L), "r"(a) : "rcx", "r11", "memory"); return r; }
static int chosen(void) { return 0; }
static __attribute__((no_stack_protector)) int (*choose(void))(void) { answer[0] = unix_socket(); return chosen; }
int call_it(void) __attribute__((ifunc("choose")));
static void early(void) { answer[1] = unix_socket(); }
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = early;
__attribute__((constructor)) static void late(void) { answer[2] = unix_socket(); }
int main(void) { static const char *const name[] = {"linking", "before constructors", "constructor"};
	for (int i = call_it(); i < 3; i++) { errno = -answer[i]; report(name[i], answer[i] < 0 ? -1 : answer[i]); } return 0; }
