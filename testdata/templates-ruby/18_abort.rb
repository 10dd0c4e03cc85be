at_exit { puts "after abort" }
abort "message"
