#define ID "RES-07"
#include "probe.h"
#include <arpa/inet.h>
#include <sys/un.h>
// Listeners of the previous run: with an abstract name, a path, on the loopback.
int main(void) { struct sockaddr_un name = {AF_UNIX, "\0RESIDUE"}, path = {AF_UNIX, "/tmp/RESIDUE.sock"}; struct sockaddr_in port = {AF_INET, htons(4242), {htonl(INADDR_LOOPBACK)}};
	struct { const char *call; int family; void *to; socklen_t len; } t[] = {{"connect abstract", AF_UNIX, &name, sizeof(sa_family_t) + 8}, {"connect path", AF_UNIX, &path, sizeof path}, {"connect loopback", AF_INET, &port, sizeof port}};
	for (int i = 0; i < 3; i++) { char b[8] = ""; errno = 0; int s = socket(t[i].family, SOCK_STREAM, 0); if (s < 0 ? report(t[i].call, -1) : !TRY(t[i].call, connect(s, t[i].to, t[i].len))) { if (s >= 0 && read(s, b, 7) > 0) printf("heard %s\n", b); } }
	return 0; }
