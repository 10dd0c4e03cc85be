// The descriptors of a process above 2, in a snapshot: files of the image, and pipes, eventfds and epoll
// instances that nothing outside the process has.
#ifndef BRIG_DESCRIPTORS_H
#define BRIG_DESCRIPTORS_H

// descriptors_end returns the number that all descriptors are below.
int descriptors_end(void);

// descriptors_note notes them. All other threads are parked. It returns 0, or says what is missing.
const char *descriptors_note(void);

// descriptors_make makes them in a new process, with their numbers and contents, and closes the
// descriptor of the template. It returns 0, or -1 while that one is still open.
int descriptors_make(void);

#endif
