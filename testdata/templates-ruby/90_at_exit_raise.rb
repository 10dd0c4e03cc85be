at_exit { raise "first" }
at_exit { raise "second" }
puts "main"
