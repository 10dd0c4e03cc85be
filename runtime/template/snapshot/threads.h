// The threads of a process, other than its first, in a snapshot.
#ifndef BRIG_THREADS_H
#define BRIG_THREADS_H

#include "snapshot.h"

// threads_park stops every other thread, for good. It returns 0, or says what is missing.
const char *threads_park(void);

// threads_make makes the parked threads in a new process. They wait for threads_go. rseq is the
// distance of the area registered with rseq(2) from the thread pointer. It returns 0 or -1.
int threads_make(u64 rseq);

// threads_go lets the threads go on where they were parked.
void threads_go(void);

#endif
