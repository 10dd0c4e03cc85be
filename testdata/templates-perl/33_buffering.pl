print "no newline"; fork // die; wait; $| = 1; print "|flushed";
