Thread.new { exit 9 }.join
puts "not reached"
