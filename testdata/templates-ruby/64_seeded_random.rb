srand 42
p rand(1000), rand, [1, 2, 3, 4].shuffle, [1, 2, 3].sample, Random.rand(10), srand(5)
r = Random.new(1)
p r.rand(100), r.bytes(4), r.seed, [1, 2, 3, 4].shuffle(random: r)
