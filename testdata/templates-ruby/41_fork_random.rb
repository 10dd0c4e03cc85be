srand 1
r, w = IO.pipe
fork { w.puts rand(1 << 60) }
Process.wait
p r.gets.to_i == rand(1 << 60)
pids = 2.times.map { r, w = IO.pipe; fork { w.puts rand(1 << 60) }; w.close; Process.wait; r.read }
p pids.uniq.size
