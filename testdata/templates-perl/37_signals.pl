$SIG{USR1} = sub { print "got $_[0]\n" }; kill USR1 => $$; $SIG{INT} = "IGNORE"; kill INT => $$;
local $SIG{CHLD} = sub { print "child ended\n" }; system "true"; print defined $SIG{PIPE} ? $SIG{PIPE} : "undef", "\n";
