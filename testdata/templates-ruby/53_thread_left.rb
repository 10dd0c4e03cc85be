Thread.new { sleep }
Thread.new { loop { sleep 0.001 } }
puts "end"
