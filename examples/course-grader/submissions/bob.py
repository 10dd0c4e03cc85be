a, b = input().split()
print(int(float(a) + float(b)))
