x = "a" * 50_000_000
l = (1..500_000).to_a
p x.size, l.sum
