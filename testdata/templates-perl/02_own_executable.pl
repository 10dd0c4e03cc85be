print `$^X -e 'print "child \$^X\\n"'`;
system $^X, "-le", 'print "list @ARGV"', "a", "b c";
print readlink("/proc/self/exe"), "\n";
