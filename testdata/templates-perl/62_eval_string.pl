eval 'print __FILE__, __LINE__, "\n"; sub g { die "in eval" }'; eval { g() }; print $@; eval "1 +"; print $@; print eval { (caller(0))[3] }, "\n";
