print("grün 日本 😀")
print(input())
