'grün 日本 😀'
[Console]::In.ReadLine()
