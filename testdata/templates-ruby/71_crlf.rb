puts "a"
puts "b"
