"""Two fixed pieces of work. Each prints a number that follows from all of it."""
import sys


def loop():
    total = 1
    for i in range(2_000_000):
        total = (total * 31 + i) % 1_000_003
        if total & 1:
            total += i % 7
    return total


def dictionary():
    counts = {}
    key = 12345
    for _ in range(700_000):
        key = (key * 1103515245 + 12345) % 2147483648
        word = key % 50021
        counts[word] = counts.get(word, 0) + 1
    return sum(k * v for k, v in counts.items()) % 1_000_003


print({"loop": loop, "dictionary": dictionary}[sys.argv[1]]())
