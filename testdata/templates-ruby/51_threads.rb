p 10.times.map { |i| Thread.new { sleep 0.001 * (10 - i); i } }.map(&:value)
m = Mutex.new; n = 0
8.times.map { Thread.new { 1000.times { m.synchronize { n += 1 } } } }.each(&:join)
p n, Thread.list.size
q = Queue.new; t = Thread.new { 3.times.map { q.pop } }; 3.times { q << _1 }; p t.value
t = Thread.new { Thread.current.report_on_exception = false; raise "in thread" }; begin; t.join; rescue => e; p e.message; end
Thread.new { raise "reported" }.join rescue p $!.message
p Thread.new { Thread.current.name }.value, Thread.current.name, Thread.main.priority
