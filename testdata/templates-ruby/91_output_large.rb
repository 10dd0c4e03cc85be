puts "line of output " * 20000
