sub f { die "dead" }
f();
