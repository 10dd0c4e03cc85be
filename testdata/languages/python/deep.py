import sys

def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)

sys.setrecursionlimit(200_000)
print(deep(100_000))
