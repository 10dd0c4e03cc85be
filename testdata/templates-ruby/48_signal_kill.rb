$stdout.sync = true
puts "before"
Process.kill "KILL", $$
sleep 5
