print(("abc"):upper(), ("hello"):find("l+"), ("k=v"):match("(%w+)=(%w+)"), ("abc"):byte(1, -1), ("x"):rep(3, ","), ("abc"):reverse())
print(string.pack("<i4", 7):byte(1, -1), utf8.char(9786, 128512), utf8.len("žluť"), #"žluť")
for p, c in utf8.codes("aé") do print(p, c) end
