print "$0|@ARGV|$^X|$^O|$^V|$]|", __FILE__, "|", __LINE__, "|@INC|$;|$,|\n";
print join("|", map { defined $_ ? $_ : "undef" } caller(0)), "\n";
