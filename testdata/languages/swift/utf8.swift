print("grün 日本 😀")
let line = readLine()!
precondition(line.count == 13)
print(line)
