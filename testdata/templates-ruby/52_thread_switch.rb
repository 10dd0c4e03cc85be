a = Thread.new { loop {} }
b = Thread.new { 100.times { Thread.pass }; :done }
p b.value
a.kill
p a.join.alive?
