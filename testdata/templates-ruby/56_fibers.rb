f = Fiber.new { |x| y = Fiber.yield x + 1; y * 2 }
p f.resume(1), f.resume(5), f.alive?
e = Enumerator.new { |y| 3.times { y << _1 } }
p e.next, e.next, e.next, (e.next rescue $!.class)
p (1..Float::INFINITY).lazy.map { _1 * 2 }.first(3)
