at_exit { puts "not shown" }
puts "lost?"
exit! 4
