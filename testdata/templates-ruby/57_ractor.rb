r = Ractor.new { Ractor.receive * 2 }
r.send 21
p r.take
