print "end"
