trap("USR1") { puts "usr1" }
Process.kill "USR1", $$
sleep 0.05
p trap("INT", "IGNORE"), trap("TERM", "DEFAULT"), trap("CHLD", "DEFAULT"), trap("PIPE", "DEFAULT"), trap("EXIT") { puts "exit trap" }
p Signal.list.size
