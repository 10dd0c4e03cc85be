eval { die { code => 5 } }; print $@->{code}, "\n";
eval { eval { die "a\n" }; print $@; die "b\n" }; print $@;
$SIG{__DIE__} = sub { print "handler: $_[0]" };
die "c\n";
