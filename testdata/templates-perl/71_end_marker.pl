print "before\n";
__END__
print "after\n";
