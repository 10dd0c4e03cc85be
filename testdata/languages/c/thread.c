#include <pthread.h>
#include <stdio.h>

static void *say(void *unused) {
	puts("from a thread");
	return unused;
}

int main(void) {
	pthread_t t;
	if (pthread_create(&t, NULL, say, NULL)) return 1;
	pthread_join(t, NULL);
}
