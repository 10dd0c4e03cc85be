package T; sub TIEHASH { bless {} } sub FETCH { "got $_[1]" } sub STORE { print "stored $_[1]\n" } package main; tie my %h, "T"; $h{a} = 1; print $h{b}, "\n"; untie %h;
