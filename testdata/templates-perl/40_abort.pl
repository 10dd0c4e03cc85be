use POSIX; print "lost in the buffer"; POSIX::abort();
