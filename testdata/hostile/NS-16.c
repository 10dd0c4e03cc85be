#define ID "NS-16"
#include "probe.h"
int main(void) {
	TRY("stream", socket(AF_VSOCK, SOCK_STREAM, 0));
	TRY("datagram", socket(AF_VSOCK, SOCK_DGRAM, 0));
	TRY("type of no socket", socket(AF_VSOCK, 0xff, 0)); // EINVAL from any kernel that gets the call
	TRY("open /dev/vsock", open("/dev/vsock", O_RDONLY));
	return 0;
}
