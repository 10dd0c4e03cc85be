pid = fork { puts "child #{Process.ppid == $$}"; exit 5 }
Process.wait pid
p $?.exitstatus
5.times { |i| fork { exit i } }
p Process.waitall.sum { |_, s| s.exitstatus }
p Process.last_status.class
