print STDERR "to stderr\n"; print STDOUT "to stdout\n"; printf STDERR "%s\n", -t STDIN ? "tty" : "no tty";
