#define ID "FS-08"
#include "probe.h"
int main(int c, char **v) {
	TRY("open /proc/self/exe", open("/proc/self/exe", O_WRONLY));
	TRY("open /proc/1/exe", open("/proc/1/exe", O_WRONLY));
	TRY("read /proc/1/exe", open("/proc/1/exe", O_RDONLY));
	TRY("open /proc/1/mem", open("/proc/1/mem", O_RDWR));
	return 0;
}
