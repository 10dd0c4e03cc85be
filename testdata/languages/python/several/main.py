from other import seven

print(seven(), "from another file")
