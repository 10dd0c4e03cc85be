$! = 7; die "with errno\n";
