at_exit { puts 1 }
at_exit { puts 2; at_exit { puts "nested" } }
END { puts "END" }
BEGIN { puts "BEGIN" }
puts "last"
