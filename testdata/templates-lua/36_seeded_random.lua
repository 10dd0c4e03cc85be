math.randomseed(42)
print(math.random(1000), math.random(1000), math.random(), math.random(0))
math.randomseed(1, 2)
print(math.random(1000))
