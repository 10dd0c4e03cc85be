#define ID "NS-17"
#include "probe.h"
int main(void) {
	char name[40];
	for (int p = 0; p < 23; p++) { snprintf(name, 40, "protocol %d", p); TRY(name, socket(AF_NETLINK, SOCK_RAW, p)); }
	return 0;
}
