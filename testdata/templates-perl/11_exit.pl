END { print "end $?\n"; $? = 4 }
exit 3;
