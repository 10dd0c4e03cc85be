def a = b
def b = raise("boom")
a
