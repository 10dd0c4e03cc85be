eval { local $SIG{ALRM} = sub { die "timeout\n" }; alarm 1; 1 while 1; }; print $@;
